/* stage: see the header. */
#define _GNU_SOURCE /* pipe2 */
#include "support/stage.h"
#include "support/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "trial/relay.h"

_Noreturn static void give_up(const char *what, const char *why) {
  fprintf(stderr, "stage: %s: %s\n", what, why);
  abort();
}

#define MUST(call)                                                                                           \
  do {                                                                                                       \
    faro_error error = {0};                                                                                  \
    if ((call) != FARO_OK) give_up(#call, error.message);                                                    \
  } while (0)

/* The stand-in for the analyzer. */

static void on_campaign(void *context, faro_http_request *request) {
  stage *s = context;
  pthread_mutex_lock(&s->mutex);
  const faro_http_answer answer = {.status = 200, .bytes = s->document, .length = s->document_length};
  pthread_mutex_unlock(&s->mutex);
  faro_http_reply(request, &answer);
}

static void keep(stage *s, const faro_batch *batch, size_t length) {
  s->next[batch->shuffler]++;
  const size_t place = s->batches++;
  if (s->forgetful) return;
  if (place == STAGE_BATCHES) give_up("batches", "too many");
  stage_batch *kept = &s->batch[place];
  *kept = (stage_batch){batch->shuffler, batch->number, batch->count, length, NULL};
  kept->body = malloc(length);
  memcpy(kept->body, batch->body, length);
}

static void on_batch(void *context, faro_http_request *request) {
  stage *s = context;
  faro_batch batch;
  faro_error error = {0};
  const faro_http_answer good = {.status = 200};
  pthread_mutex_lock(&s->mutex);
  unsigned status = 200;
  if (s->away) status = 503;
  else if (faro_batch_read(&s->campaign, faro_http_body(request), faro_http_length(request), &batch,
                           &error) != FARO_OK)
    status = 400;
  else if (batch.number + 1 == s->next[batch.shuffler]) s->repeats++;
  else if (batch.number == s->next[batch.shuffler])
    keep(s, &batch, faro_http_length(request) - FARO_BATCH_HEAD - FARO_SIGNATURE_BYTES);
  else status = 409;
  pthread_mutex_unlock(&s->mutex);
  if (status == 200) faro_http_reply(request, &good);
  else faro_http_refuse(request, status, error.message);
}

static faro_status admit(void *context, const faro_http_request *request, faro_error *error) {
  const stage *s = context;
  faro_batch batch;
  const char *notice = faro_http_header(request, "Faro-Batch");
  return faro_notice_read(&s->campaign, notice ? notice : "", notice ? strlen(notice) : 0, &batch, error);
}

static void serve(stage *s) {
  static const faro_http_route routes[] = {{"GET", "/v1/campaign", on_campaign, 0, NULL},
                                           {"POST", "/v1/batches", on_batch, 64 << 20, admit}};
  const faro_http_settings settings = {.listen = "127.0.0.1:0", .threads = 1};
  MUST(faro_metrics_create(&s->metrics, &error));
  const faro_http_service service = {
      .routes = routes, .count = 2, .context = s, .healthy = NULL, .metrics = s->metrics};
  MUST(faro_http_start(&s->http, &settings, &service, &error));
}

/* The campaign. */

static const char *path_of(const stage *s, const char *name, size_t index) {
  static _Thread_local char path[128];
  snprintf(path, sizeof path, "%s/%s%zu", s->folder, name, index);
  return path;
}

static void make_keys(stage *s, size_t count) {
  MUST(faro_sign_key_make(&s->analyzer, &error));
  for (size_t i = 0; i < count; i++) {
    MUST(faro_sign_key_make(&s->shuffler[i], &error));
    MUST(faro_key_save(path_of(s, "key", i), FARO_SIGN_SECRET, s->shuffler[i].secret, FARO_SECRET_BYTES,
                       &error));
    memcpy(s->campaign.shuffler[i].key, s->shuffler[i].public_key, FARO_KEY_BYTES);
    snprintf(s->campaign.shuffler[i].url, FARO_URL_MAX, "http://127.0.0.1:%zu", i + 1);
  }
}

static void make_tokens(stage *s, size_t clients) {
  char tokens[128];
  char hashes[128];
  snprintf(tokens, sizeof tokens, "%s/tokens", s->folder);
  snprintf(hashes, sizeof hashes, "%s/hashes", s->folder);
  MUST(faro_tokens_make(tokens, hashes, clients, &error));
  MUST(faro_tokens_load(tokens, &s->tokens, &s->clients, &error));
}

void stage_open(stage *s, const stage_plan *plan) {
  memset(s, 0, sizeof *s);
  pthread_mutex_init(&s->mutex, NULL);
  signal(SIGPIPE, SIG_IGN);
  snprintf(s->folder, sizeof s->folder, "%s/faro-stage-XXXXXX", plan->memory ? plan->memory : scratch());
  if (!mkdtemp(s->folder)) give_up("folder", s->folder);
  serve(s);
  const faro_sender_params settings = {.timeout = 60};
  MUST(faro_sender_create(&s->sender, &settings, &error));
  pthread_mutex_lock(&s->mutex); /* the server runs */
  faro_campaign *c = &s->campaign;
  snprintf(c->id, sizeof c->id, "stage");
  snprintf(c->analyzer, sizeof c->analyzer, "http://127.0.0.1:%u", faro_http_port(s->http));
  c->release = faro_release_kind_find(plan->release);
  MUST(faro_contribution_init(&c->contribution, plan->dimension, 1, 0, 1, &error));
  c->params = (faro_release_params){.epsilon = plan->epsilon,
                                    .delta = 1e-5,
                                    .horizon = plan->horizon,
                                    .batch = plan->batch,
                                    .growth = plan->growth,
                                    .shufflers = plan->shufflers,
                                    .level = plan->contributions ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                                    .contributions = plan->contributions,
                                    .calibration = FARO_CALIBRATION_TIGHT};
  c->arms = 10;
  snprintf(c->learner, sizeof c->learner, "linucb");
  c->failure = 0.1;
  c->shufflers = plan->shufflers ? (size_t)plan->shufflers : 1;
  faro_seal_key seal;
  MUST(faro_seal_key_make(&seal, &error));
  memcpy(c->seal, seal.public_key, FARO_KEY_BYTES);
  make_keys(s, c->shufflers);
  make_tokens(s, plan->clients);
  MUST(faro_campaign_write(c, &s->analyzer, &s->document, &s->document_length, &error));
  s->frame = faro_wire_report_size(c);
  s->body = s->frame - FARO_REPORT_HEAD;
  pthread_mutex_unlock(&s->mutex);
}

void stage_close(stage *s) {
  for (size_t i = 0; i < FARO_SHUFFLERS_MAX; i++) {
    if (s->pid[i]) stage_kill(s, i);
    if (s->hold[i] > 0) close(s->hold[i]);
  }
  faro_http_stop(s->http);
  faro_sender_destroy(s->sender);
  faro_metrics_destroy(s->metrics);
  for (size_t i = 0; i < STAGE_BATCHES; i++) free(s->batch[i].body);
  free(s->tokens);
  free(s->document);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", s->folder);
  if (system(command) != 0) give_up("folder", "cannot be removed");
}

/* Processes. */

static void write_config(const stage *s, size_t index, const char *extra) {
  FILE *file = fopen(path_of(s, "config", index), "w");
  if (!file) give_up("settings", "cannot be written");
  fprintf(file, "listen: 127.0.0.1:%u\nstate: %s\n", s->port[index], path_of(s, "state", index));
  fprintf(file, "key: %s\n", path_of(s, "key", index));
  fprintf(file, "tokens: %s/hashes\nanalyzer: %s\nanalyzer-key: ", s->folder, s->campaign.analyzer);
  for (size_t i = 0; i < FARO_KEY_BYTES; i++) fprintf(file, "%02x", s->analyzer.public_key[i]);
  fprintf(file, "\n%s", extra ? extra : "");
  fclose(file);
}

/* Reads the log until it says that the process is ready. */
static void await_ready(stage *s, size_t index) {
  char log[8192];
  size_t used = 0;
  const char *place = NULL;
  while (used + 1 < sizeof log) {
    const ssize_t got = read(s->errors[index], log + used, sizeof log - 1 - used);
    if (got <= 0) break;
    used += (size_t)got;
    log[used] = '\0';
    const char *ready = strstr(log, "\"event\":\"ready\"");
    place = ready ? strchr(ready, '\n') : NULL;
    if (place) break;
  }
  log[used] = '\0';
  if (!place) give_up("a shuffler did not start", log);
}

static void *drain(void *context) { /* so that its log never fills the pipe */
  const int file = (int)(intptr_t)context;
  char text[4096];
  const bool show = getenv("STAGE_LOG") != NULL;
  for (ssize_t got = 0; (got = read(file, text, sizeof text)) > 0;)
    if (show) fprintf(stderr, "%.*s", (int)got, text);
  close(file);
  return NULL;
}

void stage_start(stage *s, size_t index, const char *extra) {
  if (s->hold[index] == 0) MUST(faro_port_hold(&s->port[index], &s->hold[index], &error));
  write_config(s, index, extra);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) give_up("pipe", "cannot be created");
  const char *config = path_of(s, "config", index);
  s->pid[index] = fork();
  if (s->pid[index] == 0) {
    dup2(ends[1], STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failing test leaves nothing running */
    execl(FARO_COMMAND, "faro", "shuffler", "--config", config, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  s->errors[index] = ends[0];
  await_ready(s, index);
  pthread_t thread;
  if (pthread_create(&thread, NULL, drain, (void *)(intptr_t)ends[0]) != 0)
    give_up("thread", "cannot be created");
  pthread_detach(thread);
}

static int reap(stage *s, size_t index, int signal_number) {
  int status = 0;
  kill(s->pid[index], signal_number);
  if (waitpid(s->pid[index], &status, 0) < 0) give_up("process", "is gone");
  s->pid[index] = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void stage_kill(stage *s, size_t index) { (void)reap(s, index, SIGKILL); }
int stage_stop(stage *s, size_t index) { return reap(s, index, SIGTERM); }

void stage_present(stage *s, bool present) {
  pthread_mutex_lock(&s->mutex);
  s->away = !present;
  pthread_mutex_unlock(&s->mutex);
}

/* Reports. */

void stage_report(const stage *s, size_t index, size_t client, uint64_t version, uint64_t sequence,
                  uint64_t mark, unsigned char *out) {
  const bool bits = faro_campaign_form(&s->campaign) == FARO_WIRE_BITS;
  const uint64_t least = (uint64_t)faro_campaign_encoding(&s->campaign, index, version - 1)->least;
  const uint64_t most = (uint64_t)faro_campaign_encoding(&s->campaign, index, version - 1)->most - least;
  memcpy(out, "FRR2", 4);
  memcpy(out + 4, s->campaign.digest, 16);
  faro_store64(out + 20, version);
  faro_store64(out + 28, sequence);
  faro_store32(out + 36, (uint32_t)index);
  memcpy(out + 40, s->tokens + client * FARO_TOKEN_BYTES, FARO_TOKEN_BYTES);
  unsigned char *body = out + FARO_REPORT_HEAD;
  if (bits)
    for (size_t i = 0; i < s->body / 4; i++)
      faro_store32(body + 4 * i, (uint32_t)(least + (mark < most ? mark : most)));
  else
    for (size_t i = 0; i < s->body; i += 8) faro_store64(body + i, mark);
}

long stage_post(stage *s, size_t index, const void *bytes, size_t length, faro_sent *sent) {
  char url[64];
  faro_error error = {0};
  *sent = (faro_sent){0};
  snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/reports", s->port[index]);
  return faro_send_post(s->sender, url, bytes, length, sent, &error) == FARO_OK ? sent->status : 0;
}

long stage_get(stage *s, size_t index, const char *path, faro_sent *sent) {
  char url[128];
  faro_error error = {0};
  *sent = (faro_sent){0};
  snprintf(url, sizeof url, "http://127.0.0.1:%u%s", s->port[index], path);
  return faro_send_get(s->sender, url, sent, &error) == FARO_OK ? sent->status : 0;
}

bool stage_await(stage *s, size_t batches, double seconds) {
  const double until = faro_clock() + seconds;
  for (size_t here = 0; here < batches;) {
    pthread_mutex_lock(&s->mutex);
    here = s->batches;
    pthread_mutex_unlock(&s->mutex);
    if (here < batches && faro_clock() > until) return false;
    usleep(5000);
  }
  return true;
}

double stage_metric(stage *s, size_t index, const char *name) {
  faro_sent sent;
  if (stage_get(s, index, "/metrics", &sent) != 200) give_up("metrics", "not there");
  const size_t length = strlen(name);
  for (const char *line = sent.bytes; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, length) == 0 && line[length] == ' ') return atof(line + length);
  }
  give_up("no such metric", name);
}

/* `begins` says with which two bytes pieces begin, so that memory is read once for all of them. */
static size_t count_pieces(const unsigned char *all, size_t size, const unsigned char *pieces, size_t count,
                           size_t length) {
  static bool begins[1 << 16];
  memset(begins, false, sizeof begins);
  for (size_t i = 0; i < count; i++) begins[pieces[i * length] << 8 | pieces[i * length + 1]] = true;
  bool *seen = calloc(count, sizeof *seen);
  size_t found = 0;
  for (size_t at = 0; at + length <= size; at++) {
    if (!begins[all[at] << 8 | all[at + 1]]) continue;
    for (size_t i = 0; i < count; i++)
      if (!seen[i] && memcmp(all + at, pieces + i * length, length) == 0) found += seen[i] = true;
  }
  free(seen);
  return found;
}

int stage_remembers(pid_t pid, const unsigned char *pieces, size_t count, size_t length) {
  char path[64];
  char line[512];
  size_t found = 0;
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  const int memory = open(path, O_RDONLY);
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  FILE *maps = fopen(path, "r");
  while (memory >= 0 && maps && fgets(line, sizeof line, maps)) {
    char *end = NULL;
    const unsigned long first = strtoul(line, &end, 16);
    const unsigned long last = strtoul(end + 1, &end, 16);
    if (end[2] != 'w') continue;
    unsigned char *all = malloc(last - first);
    const ssize_t got = pread(memory, all, last - first, (off_t)first);
    if (got > 0) found += count_pieces(all, (size_t)got, pieces, count, length);
    free(all);
  }
  const bool looked = memory >= 0 && maps;
  if (maps) fclose(maps);
  if (memory >= 0) close(memory);
  return looked ? (int)found : -1;
}
