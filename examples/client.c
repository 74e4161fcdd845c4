/* client: an application that takes part in a campaign. It needs only libfaro_client, so documents,
 * reports and answers are files in a folder. A real application uses the network instead, as the
 * comments say.
 *
 *   cc client.c $(pkg-config --cflags --libs faro_client) -o client
 *   client FOLDER EPSILON DELTA choose ID          chooses one of two arms, and keeps the choice
 *   client FOLDER EPSILON DELTA reward ID REWARD   its reward: a second or a month later
 *   client FOLDER EPSILON DELTA next               writes `report`, and prints where to post it
 *   client FOLDER EPSILON DELTA answer STATUS      reads `answer`, the content of that answer
 *
 * The folder has `key` (the analyzer's public key), `token` (mode 600), `campaign` and `policy`.
 * The program keeps `state` there. EPSILON and DELTA are the weakest claim that is accepted: what
 * the users of the application were told (the campaign of deploy/loopback promises 8 and 1e-6). */
#include <faro/queue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char text[1 << 20]; /* the file that was read last */
static faro_error error;

static size_t read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  text[length] = '\0';
  return length;
}

/* 32 bytes from the last 64 hexadecimal digits of a file. */
static bool read_key(const char *name, unsigned char out[32]) {
  size_t length = read_file(name);
  if (length > 0 && text[length - 1] == '\n') length--;
  const char *digits = text + length - 64;
  if (length < 64 || strspn(digits, "0123456789abcdef") < 64) return false;
  for (size_t i = 0; i < 32; i++) {
    const char pair[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
    out[i] = (unsigned char)strtoul(pair, NULL, 16);
  }
  return true;
}

/* The token lets its holder report in this user's place. */
static bool is_secret(const char *name) {
  struct stat about;
  return stat(name, &about) == 0 && (about.st_mode & 077) == 0;
}

/* Contexts end in the campaign's constant, which is 0.6 in deploy/loopback: that leaves 0.8 for the
 * other features. */
static faro_status choose(faro_client *client, faro_queue *queue, const char *id) {
  const size_t d = faro_client_dimension(client);
  double *features = calloc(2 * d, sizeof *features);
  size_t arm = 0;
  if (!features) return faro_fail(&error, FARO_MEMORY, "out of memory");
  features[0] = 0.8, features[d] = -0.8, features[d - 1] = features[2 * d - 1] = 0.6;
  faro_status status = faro_client_choose(client, features, 2, &arm, &error);
  if (status == FARO_OK) status = faro_queue_keep(queue, client, id, features + arm * d, &error);
  if (status == FARO_OK) printf("arm %zu\n", arm);
  free(features);
  return status;
}

/* In a real application: POST the bytes as application/octet-stream. */
static faro_status next(faro_client *client, faro_queue *queue) {
  faro_queue_post post;
  const faro_status status = faro_queue_next(queue, client, &post, &error);
  if (status != FARO_OK) return status;
  printf(post.url ? "POST %s\n" : "nothing to send now\n", post.url);
  FILE *file = post.url ? fopen("report", "wb") : NULL;
  const bool written = file && fwrite(post.bytes, 1, post.length, file) == post.length;
  if (file && fclose(file) == 0 && written) return FARO_OK;
  return post.url ? faro_fail(&error, FARO_SYSTEM, "report cannot be written") : FARO_OK;
}

/* The process ended between next and answer, so the part is asked for again: it is the same one. */
static faro_status answer(faro_client *client, faro_queue *queue, long status) {
  static const char *const words[] = {"done", "send it again later", "refused"};
  faro_queue_post post;
  faro_reply reply;
  faro_status good = faro_queue_next(queue, client, &post, &error);
  const size_t length = read_file("answer");
  if (good == FARO_OK) good = faro_queue_answer(queue, client, status, text, length, 0, &reply, &error);
  if (good == FARO_OK) printf("%s\n", words[reply.kind]);
  return good;
}

static faro_status run(faro_client_params *params, char **argv) {
  faro_client *client = NULL;
  faro_queue *queue = NULL;
  const char *command = argv[4];
  faro_status status = faro_queue_open(&queue, &(faro_queue_params){.path = "state"}, &error);
  if (status == FARO_OK) faro_queue_restore(queue, params);
  if (status == FARO_OK) status = faro_client_open(&client, params, &error);
  /* In a real application: GET <analyzer>/v1/campaign once, and /v1/policy?after=VERSION often. */
  if (status == FARO_OK) status = faro_client_campaign(client, text, read_file("campaign"), &error);
  if (status == FARO_OK) status = faro_client_policy(client, text, read_file("policy"), &error);
  if (status == FARO_OK && *command == 'c') status = choose(client, queue, argv[5]);
  else if (status == FARO_OK && *command == 'r')
    status = faro_queue_reward(queue, client, argv[5], strtod(argv[6], NULL), &error);
  else if (status == FARO_OK && *command == 'a') status = answer(client, queue, atol(argv[5]));
  else if (status == FARO_OK) status = next(client, queue);
  faro_client_close(client);
  faro_queue_close(queue);
  return status;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int words;
  } commands[] = {{"choose", 6}, {"reward", 7}, {"next", 5}, {"answer", 6}};
  unsigned char key[32], token[32];
  bool known = false;
  for (size_t i = 0; argc > 4 && i < 4; i++)
    known = known || (strcmp(argv[4], commands[i].name) == 0 && argc == commands[i].words);
  if (!known) {
    fprintf(stderr,
            "usage: client FOLDER EPSILON DELTA choose ID | reward ID REWARD | next | answer STATUS\n");
    return 2;
  }
  if (chdir(argv[1]) != 0 || !read_key("key", key) || !is_secret("token") || !read_key("token", token)) {
    fprintf(stderr, "%s must have the files key and token, and only its owner may read token\n", argv[1]);
    return 1;
  }
  faro_client_params params = {.signer = key,
                               .token = token,
                               .epsilon = strtod(argv[2], NULL),
                               .delta = strtod(argv[3], NULL),
                               .trust = "shuffle",
                               .user_level = true};
  if (run(&params, argv) == FARO_OK) return 0;
  fprintf(stderr, "%s\n", error.message);
  return 1;
}
