/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* What the volfile of a server may say: nothing that names a file, socket or program of this
 * machine. */
#include "graph/graph.h"

#include "../program.h"
#include <stdio.h>
#include <string.h>

#define BRICK "volume c type protocol/client option remote-host h option remote-subvolume /b\n"
#define ABOVE BRICK "end-volume\nvolume x subvolumes c\n"

static struct graph *
fetched_load (const char *text, const char *const *options)
{
    const char *dirs[] = { g_getenv ("WINDLASS_TEST_XLATORS"), NULL };
    const struct graph_settings settings = { .xlator_dirs = dirs,
                                             .options = options,
                                             .inode_limit = 100 };

    return graph_load (volfile_of_server_text ("host:/volume", text), &settings);
}

/* A volfile of a server, and the problem that it must have. */
static const struct faulty {
    const char *text;
    int line, column;
    bool warning;
    const char *part;
} fetched_faulty[] = {
    { "volume leaf type test/leaf end-volume", 1, 18, false,
      "volume 'leaf': type 'test/leaf' must have subvolumes in the volfile of a server" },
    { BRICK "option transport-type UNIX end-volume", 2, 23, false,
      "volume 'c': option 'transport-type' can name a thing of this machine, so a server may not "
      "set it to 'UNIX'; --xlator-option c.transport-type=VALUE sets it here" },
    { BRICK "option connect-path /run/socket end-volume", 2, 21, false,
      "option 'transport.socket.connect-path' can name a thing of this machine" },
    { ABOVE "type debug/fault option rules /dev/stdin end-volume", 4, 31, false,
      "option 'rules' can name a thing of this machine" },
    { ABOVE "type test/online option text x end-volume", 4, 30, false,
      "option 'text' can name a thing of this machine" },
    { BRICK "option ssl-private-key /root/key end-volume", 2, 24, true,
      "option 'transport.socket.ssl-private-key' is ignored: a server may set it to a path in "
      "/etc/ssl or in OpenSSL's folder only, got '/root/key'" },
    { BRICK "option ssl-crl-path /etc/ssl/../lists end-volume", 2, 21, true,
      "option 'transport.socket.ssl-crl-path' is ignored" },
    { BRICK "option ssl-ca-list /etc/sslx end-volume", 2, 20, true, "is ignored" },
};

static void
fetched_check_problem (const struct volfile *volfile, const struct faulty *wanted)
{
    const struct problem *problem;

    ck_assert_uint_eq (volfile->problems->len, 1);
    problem = volfile->problems->pdata[0];
    ck_assert_msg (problem->line == wanted->line && problem->column == wanted->column
                       && problem->warning == wanted->warning
                       && strstr (problem->text, wanted->part),
                   "got %d:%d: %s\nnot %d:%d: %s", problem->line, problem->column, problem->text,
                   wanted->line, wanted->column, wanted->part);
}

START_TEST (fetched_each_faulty)
{
    struct graph *graph = fetched_load (fetched_faulty[_i].text, NULL);

    fetched_check_problem (graph->volfile, &fetched_faulty[_i]);
    graph_free (graph);
}
END_TEST

static const char *
fetched_setting (const xlator_t *xl, const char *key)
{
    for (guint i = 0; i < xl->settings->len; i++) {
        const struct option_setting *s = xl->settings->pdata[i];

        if (strcmp (s->option->key[0], key) == 0)
            return s->text;
    }
    ck_abort_msg ("no setting '%s'", key);
}

/* The server's own paths and texts, what the command line says, and the folder of TLS. */
START_TEST (rest_is_taken)
{
    const char *const options[] = { "c.connect-path=/run/here", "c.transport-type=unix", NULL };
    const struct faulty ignored = { NULL, 3, 21, true, "ssl-own-cert' is ignored" };
    struct graph *graph =
        fetched_load (BRICK "option password p option ssl-ca-list /etc/ssl/ca.pem\n"
                    "option ssl-own-cert /root/x option ping-timeout 7 option address-family inet\n"
                    "option transport-type unix option connect-path /run/there end-volume",
                      options);
    const xlator_t *xl = graph->top;

    fetched_check_problem (graph->volfile, &ignored);
    ck_assert_str_eq (fetched_setting (xl, "remote-subvolume"), "/b");
    ck_assert_str_eq (fetched_setting (xl, "password"), "p");
    ck_assert_str_eq (fetched_setting (xl, "ping-timeout"), "7");
    ck_assert_str_eq (fetched_setting (xl, "transport.socket.ssl-ca-list"), "/etc/ssl/ca.pem");
    ck_assert_ptr_null (fetched_setting (xl, "transport.socket.ssl-own-cert"));
    ck_assert_str_eq (fetched_setting (xl, "transport.socket.connect-path"), "/run/here");
    graph_free (graph);
}
END_TEST

/* A value of the command line that no translator takes may be a misspelt password. */
START_TEST (secrets_are_known)
{
    struct graph *graph = fetched_load (BRICK "end-volume", NULL);

    ck_assert (graph_option_is_secret (graph, "?.password=p"));
    ck_assert (graph_option_is_secret (graph, "c.pasword=p"));
    ck_assert (graph_option_is_secret (graph, "other.ping-timeout=7"));
    ck_assert (!graph_option_is_secret (graph, "c.ping-timeout=7"));
    graph_free (graph);
}
END_TEST

TEST_PROGRAM (test_fetched)
{
    Suite *suite = suite_create ("fetched");
    TCase *tcase = tcase_create ("fetched");

    if (!g_getenv ("WINDLASS_TEST_XLATORS")) {
        puts ("SKIP: WINDLASS_TEST_XLATORS doesn't say where the translators for tests are");
        return 77;
    }
    tcase_add_loop_test (tcase, fetched_each_faulty, 0, G_N_ELEMENTS (fetched_faulty));
    tcase_add_test (tcase, rest_is_taken);
    tcase_add_test (tcase, secrets_are_known);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
