/* admin: the server for operators, at an address of its own. Every request but /healthz and
 * /readyz needs one of the tokens whose hashes are in a file (`faro keys tokens` makes both):
 *
 *   Authorization: Bearer TOKEN          from programs
 *   Authorization: Basic (any:TOKEN)     from browsers, which ask for a name and a password
 *
 * A browser sends a password that it knows with every request to the server, also with those that
 * pages of others make it send. So Basic may only look: a POST needs Bearer, which no page of
 * others can make a browser send. */
#ifndef FARO_SERVICE_ROLE_ADMIN_H
#define FARO_SERVICE_ROLE_ADMIN_H

#include "service/http/server.h"

typedef struct faro_admin faro_admin;

/* Checks admin-listen and admin-tokens; both or neither must be set. Opens nothing that others
 * would see. */
faro_status faro_admin_check(const faro_http_settings *settings, faro_error *error) FARO_WARN_UNUSED;
/* Reads the tokens' hashes and takes the address. Without admin-listen *admin stays NULL, and the
 * functions below do nothing. */
faro_status faro_admin_bind(faro_admin **admin, const faro_http_settings *settings,
                            faro_error *error) FARO_WARN_UNUSED;
/* Serves what an operator may see. The service must outlive it. */
faro_status faro_admin_serve(faro_admin *admin, const faro_http_service *service,
                             faro_error *error) FARO_WARN_UNUSED;
/* Reads certificate and tokens again. What cannot be used is logged, and what was there before
 * stays. */
void faro_admin_reload(faro_admin *admin);
uint16_t faro_admin_port(const faro_admin *admin); /* 0: none */
void faro_admin_stop(faro_admin *admin);

/* Makes room for bodies of this size (server.h). */
void faro_admin_make_room(faro_admin *admin, size_t largest);

/* The header with which a program enters: "Authorization: Bearer ..." with the token in a file of
 * mode 600. Wipe it after use. */
enum { FARO_ADMIN_HEADER = 96 };
faro_status faro_admin_header(const char *path, char header[static FARO_ADMIN_HEADER],
                              faro_error *error) FARO_WARN_UNUSED;

/* An operator by the first digits of the hash of the token, as the file of hashes has it; "" if
 * there is none. Not whether it may enter. */
enum { FARO_OPERATOR = 9 };
void faro_admin_operator(const faro_http_request *request, char name[static FARO_OPERATOR]);

/* Whether the value of the header Authorization (NULL: none) has one of the tokens. The time does
 * not depend on how much of a token is right. */
bool faro_admin_allows(const char *authorization, bool post, const unsigned char *hashes, size_t count);

#endif
