/* client: an application that takes part in a campaign. It needs only libfaro_client, so
 * it reads documents from files and writes reports to a file. A real application uses the network
 * instead, as the comments say.
 *
 *   cc client.c $(pkg-config --cflags --libs faro_client) -o client
 *   client KEY TOKEN CAMPAIGN POLICY REPORT [EPSILON DELTA]
 *
 * KEY (the analyzer's) and TOKEN are 64 hexadecimal digits; CAMPAIGN, POLICY and REPORT are files.
 * EPSILON and DELTA are the weakest claim that is accepted, 1 and 1e-6 by default (the campaign of
 * deploy/loopback promises 8 and 1e-6).
 *
 * A real application also saves digest, sequence and version, and gives them to faro_client_open
 * when it starts again. */
#include <faro/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char document[1 << 20];

static size_t read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  const size_t length = file ? fread(document, 1, sizeof document, file) : 0;
  if (file) fclose(file);
  return length;
}

/* 32 bytes from 64 hexadecimal digits. */
static int read_key(const char *text, unsigned char out[32]) {
  if (strlen(text) != 64 || strspn(text, "0123456789abcdefABCDEF") != 64) return 0;
  for (size_t i = 0; i < 32; i++) {
    const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
    out[i] = (unsigned char)strtoul(digits, NULL, 16);
  }
  return 1;
}

static int fail(const faro_error *error) { return fprintf(stderr, "%s\n", error->message), 1; }

int main(int argc, char **argv) {
  unsigned char key[32] = {0}, token[32] = {0};
  if ((argc != 6 && argc != 8) || !read_key(argv[1], key) || !read_key(argv[2], token)) {
    fprintf(stderr, "usage: client KEY TOKEN CAMPAIGN POLICY REPORT [EPSILON DELTA]\n");
    return 2;
  }
  /* The minimum: what the users of this application were told. Campaigns that promise less are
   * refused. */
  const faro_client_params params = {.signer = key,
                                     .token = token,
                                     .epsilon = argc == 8 ? strtod(argv[6], NULL) : 1,
                                     .delta = argc == 8 ? strtod(argv[7], NULL) : 1e-6,
                                     .trust = "shuffle",
                                     .user_level = true};
  faro_client *client = NULL;
  faro_error error = {0};
  if (faro_client_open(&client, &params, &error) != FARO_OK) return fail(&error);
  /* In a real application: GET <analyzer>/v1/campaign once, and GET
   * <analyzer>/v1/policy?after=<version> repeatedly. */
  if (faro_client_campaign(client, document, read_file(argv[3]), &error) != FARO_OK) return fail(&error);
  if (faro_client_policy(client, document, read_file(argv[4]), &error) != FARO_OK) return fail(&error);

  /* Choose one of two arms. */
  const size_t d = faro_client_dimension(client);
  double *features = calloc(2 * d, sizeof *features);
  unsigned char *report = malloc(faro_client_parts(client) * faro_client_part_size(client));
  if (!features || !report) return 1;
  features[0] = features[2 * d - 1] = 1;
  size_t arm = 0;
  if (faro_client_choose(client, features, 2, &arm, &error) != FARO_OK) return fail(&error);
  const double reward = 0.5; /* the reward of the chosen arm */
  size_t parts = 0;
  if (faro_client_report(client, features + arm * d, reward, report, &parts, &error) != FARO_OK)
    return fail(&error);
  /* Save these before the report is sent, and the digest too. */
  printf("sequence %llu, policy %llu, arm %zu\n", (unsigned long long)faro_client_sequence(client),
         (unsigned long long)faro_client_version(client), arm);
  FILE *out = fopen(argv[5], "wb");
  /* In a real application: POST each part as application/octet-stream until it is answered. */
  for (size_t i = 0; out && i < parts; i++) {
    printf("POST %s\n", faro_client_target(client, i));
    fwrite(report + i * faro_client_part_size(client), 1, faro_client_part_size(client), out);
  }
  const int written = out && fclose(out) == 0;
  free(features);
  free(report);
  faro_client_close(client);
  return written ? 0 : 1;
}
