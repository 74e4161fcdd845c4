# The shell program behind `faro data`, embedded into the command: $1 is the set, $2 the CSV file to write, $3 "install" where
# packages may be fetched. It ends with status 3 if a package is missing. Scratch files are in a temporary folder.
set -eu
set_name=$1
out=$2
install=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
root=""
[ "$(id -u)" -eq 0 ] || root="sudo"

# need PACKAGE...: all of them are installed, or can be.
need() {
  missing=""
  for package in "$@"; do
    case "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" in
      "install ok installed") ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  if [ -z "$install" ]; then
    echo "faro: $set_name needs Debian packages; install them with: ${root:+sudo }apt-get install --no-install-recommends$missing" >&2
    echo "(or let faro do it: faro data $set_name --install)" >&2
    exit 3
  fi
  # shellcheck disable=SC2086
  $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing </dev/null >"$scratch/log" 2>&1 || {
    cat "$scratch/log" >&2
    echo "faro: apt-get could not install$missing" >&2
    exit 3
  }
}

# may_fetch WHAT: says how to get what is not installed, unless it may be fetched. Faro knows best: apt-get by itself needs
# settings that few systems have, and what it fetches would have to be unpacked.
may_fetch() {
  [ -n "$install" ] && return 0
  echo "faro: $set_name is in $1; fetch it, in a temporary folder, with: faro data $set_name --install" >&2
  exit 3
}

# source_package NAME: unpacks a Debian source package here. Needs neither root nor deb-src lines in the system's settings.
source_package() {
  mkdir -p lists/partial cache/archives/partial
  sed -n 's/^deb /deb-src /p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null >all.list || true
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -f "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"all-$(basename "$file")"
  done
  mkdir parts
  mv all-*.sources parts/ 2>/dev/null || true
  set -- "$1" -o "Dir::Etc::SourceList=$PWD/all.list" -o "Dir::Etc::SourceParts=$PWD/parts" -o "Dir::State::Lists=$PWD/lists" \
    -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User=
  name=$1
  shift
  apt-get -qq "$@" update >log 2>&1 && apt-get -qq "$@" source --download-only "$name" >>log 2>&1 || {
    cat log >&2
    echo "faro: apt-get could not fetch the source package $name" >&2
    exit 3
  }
}

shuttle() {
  need r-base-core r-cran-mlbench
  Rscript --vanilla - "$out" <<'R'
out <- commandArgs(TRUE)[1]
data(Shuttle, package = "mlbench")
names(Shuttle) <- c("time", paste0("sensor", 2:9), "class")
Shuttle$class <- gsub("[^A-Za-z]", "", as.character(Shuttle$class))
write.csv(Shuttle, out, row.names = FALSE, quote = FALSE)
R
}

mushroom() {
  file=${FARO_MUSHROOM:-}
  if [ -z "$file" ]; then
    may_fetch "the Debian source package xgboost"
    (cd "$scratch" && source_package xgboost)
    archive=$(find "$scratch" -maxdepth 1 -name 'xgboost_*.orig.tar.*' | head -n 1)
    tar -xf "$archive" -C "$scratch" --wildcards '*/agaricus-lepiota.data'
    file=$(find "$scratch" -name agaricus-lepiota.data | head -n 1)
  fi
  {
    echo "class,cap_shape,cap_surface,cap_color,bruises,odor,gill_attachment,gill_spacing,gill_size,gill_color,stalk_shape,stalk_root,stalk_surface_above,stalk_surface_below,stalk_color_above,stalk_color_below,veil_type,veil_color,ring_number,ring_type,spore_print_color,population,habitat"
    sed 's/^e,/edible,/; s/^p,/poisonous,/; s/?/unknown/g' "$file"
  } >"$out"
}

digits() {
  file=/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz
  if [ ! -f "$file" ]; then
    may_fetch "the Debian package python3-sklearn, which need not be installed"
    (cd "$scratch" && apt-get -qq -o APT::Sandbox::User= download python3-sklearn) || exit 3
    dpkg-deb -x "$scratch"/python3-sklearn_*.deb "$scratch/unpacked"
    file="$scratch/unpacked$file"
  fi
  {
    awk 'BEGIN { for (i = 0; i < 64; i++) printf "pixel%d_%d,", i / 8, i % 8; print "digit" }'
    gzip -dc "$file" | awk -F, '{ for (i = 1; i < NF; i++) printf "%d,", $i; printf "%d\n", $NF }'
  } >"$out"
}

movielens() {
  need r-base-core r-cran-dslabs
  Rscript --vanilla - "$out" <<'R'
out <- commandArgs(TRUE)[1]
data(movielens, package = "dslabs")
m <- movielens
m <- m[!is.na(m$year), ]
m <- m[order(m$timestamp, m$userId, m$movieId), ]
all <- c("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy", "Film-Noir",
         "Horror", "IMAX", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western")
genres <- sapply(all, function(g) as.integer(grepl(g, as.character(m$genres), fixed = TRUE)))
colnames(genres) <- tolower(gsub("-", "_", all))
rows <- data.frame(user = m$userId, year = m$year, genres, liked = ifelse(m$rating >= 4, "yes", "no"))
write.csv(rows, out, row.names = FALSE, quote = FALSE)
R
}

star() {
  need r-base-core r-cran-aer
  Rscript --vanilla - "$out" <<'R'
out <- commandArgs(TRUE)[1]
data(STAR, package = "AER")
s <- STAR
s <- s[!is.na(s$stark) & !is.na(s$schoolidk), ]
s$arm <- gsub("regular\\+aide", "aide", as.character(s$stark))
size <- table(s$schoolidk, s$arm)
s$propensity <- (size / rowSums(size))[cbind(as.character(s$schoolidk), s$arm)]
s <- s[stats::complete.cases(s[, c("readk", "mathk", "gender", "ethnicity", "birth", "lunchk", "schoolk")]), ]
least <- 315 + 288
most <- 627 + 626
rows <- data.frame(gender = s$gender, ethnicity = s$ethnicity, birth = round(as.numeric(s$birth), 2), lunch = s$lunchk,
                   school = s$schoolk, class = s$arm, score = round((s$readk + s$mathk - least) / (most - least), 4),
                   propensity = round(s$propensity, 6))
write.csv(rows, out, row.names = FALSE, quote = FALSE)
R
}

"$set_name"
