/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass doctor MOUNT: nothing here accesses the mount, which may hang. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

#include "cli/doctor/doctor.h"

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define OLD_SECONDS 5 /* a request that is older has got stuck, or storage is slow */

/* --- the state -------------------------------------------------------------------------------- */

/* Returns whether the daemon can be asked. */
static bool
mount_state (const struct mount *mount, pid_t *ret_pid, GPtrArray *findings)
{
    static const struct {
        const char *state, *found, *mend;
        enum doctor_state how;
    } states[] = {
        { "answers", "it answers", NULL, DOCTOR_OK },
        { "stuck", "it does not answer within 2 seconds", "windlass inflight %s", DOCTOR_PROBLEM },
        { "dead", "its daemon is gone", "windlass umount %s", DOCTOR_PROBLEM },
        { "private", "it belongs to another user, and only that user and root can ask", NULL,
          DOCTOR_OK },
        { "covered", "another mount is on top of it, or of a folder above it", NULL, DOCTOR_NOTE },
    };
    const char *state = cli_mount_state (mount, ret_pid);

    for (size_t i = 0; i < G_N_ELEMENTS (states); i++) {
        struct doctor_finding *finding;

        if (strcmp (states[i].state, state) != 0)
            continue;
        finding = doctor_find (findings, "mount", states[i].how, "%s", states[i].found);
        finding->mend = states[i].mend ? doctor_command (states[i].mend, mount->path) : NULL;
        return strcmp (state, "dead") != 0;
    }
    doctor_find (findings, "mount", DOCTOR_NOTE, "its state is not known");
    return true;
}

/* --- what the daemon says --------------------------------------------------------------------- */

char *
doctor_ask (const char *mountpoint, const char *command, const char *words)
{
    g_autoptr (GBytes) input = words ? g_bytes_new_static (words, strlen (words)) : NULL;
    g_autoptr (GString) answer = g_string_new ("\n");
    g_autofree char *error = NULL;

    if (control_call (mountpoint, NULL, command, input, answer, &error) < 0)
        return NULL;
    return g_strdup (answer->str);
}

char *
doctor_value (const char *state, const char *key)
{
    g_autofree char *line = g_strdup_printf ("\n%s=", key);
    const char *at = state ? strstr (state, line) : NULL;

    return at ? g_strndup (at + strlen (line), strcspn (at + strlen (line), "\n")) : g_strdup ("");
}

static void
mount_requests (const struct mount *mount, GPtrArray *findings)
{
    g_autofree char *old = doctor_ask (mount->path, "inflight",
                                      "json\nolder=" G_STRINGIFY (OLD_SECONDS) "000000000");
    unsigned n = 0;
    struct doctor_finding *finding;

    /* Quotes in strings are escaped, so nothing else looks so. */
    for (const char *at = old; at && (at = strstr (at, "{\"unique\": ")); at++)
        n++;
    if (n == 0) {
        doctor_find (findings, "requests", DOCTOR_OK, "none is older than %d seconds", OLD_SECONDS);
        return;
    }
    finding = doctor_find (findings, "requests", DOCTOR_NOTE,
                           "%u without an answer for more than %d seconds", n, OLD_SECONDS);
    finding->costs = g_strdup ("programs wait for them");
    finding->mend = doctor_command ("what each waits for: windlass inflight %s", mount->path);
}

static void
mount_errors (const struct mount *mount, const char *state, GPtrArray *findings)
{
    g_autofree char *errors = doctor_value (state, "errors");
    const bool none = !*errors || strcmp (errors, "0") == 0;
    struct doctor_finding *finding;

    if (none) {
        doctor_find (findings, "errors", DOCTOR_OK, "none");
        return;
    }
    finding = doctor_find (findings, "errors", DOCTOR_NOTE, "%s so far", errors);
    finding->mend = doctor_command ("which: windlass errors %s", mount->path);
}

/* What it agreed on with the kernel. */
static void
mount_features (const char *state, GPtrArray *findings)
{
    static const struct {
        const char *key, *name;
    } features[] = {
        { "io_uring", "io_uring" },
        { "kernel_passthrough", "passthrough" },
        { "kernel_writeback_cache", "writeback cache" },
        { "idmapped_mounts", "idmapped mounts" },
    };
    g_autofree char *minor = doctor_value (state, "proto_minor");
    g_autoptr (GString) text = g_string_new (NULL);

    for (size_t i = 0; i < G_N_ELEMENTS (features); i++) {
        g_autofree char *value = doctor_value (state, features[i].key);

        g_string_append_printf (text, ", %s %s", features[i].name, *value ? value : "unknown");
    }
    doctor_find (findings, "kernel", DOCTOR_OK, "FUSE 7.%s%s", minor, text->str);
}

static void
mount_log (const char *state, GPtrArray *findings)
{
    g_autofree char *log = doctor_value (state, "log"), *level = doctor_value (state, "log_level"),
                    *stuck = doctor_value (state, "stuck_after");
    const char *where = strcmp (log, "journal") == 0 ? "the journal of systemd"
                      : *log                         ? log
                                                     : "the standard error";

    doctor_find (findings, "log", DOCTOR_OK, "%s, level %s", where, level);
    if (atof (stuck) > 0)
        doctor_find (findings, "watchdog", DOCTOR_OK,
                     "a request without an answer for %s s is logged", stuck);
    else
        doctor_find (findings, "watchdog", DOCTOR_NOTE, "off")->mend =
            g_strdup ("mount it with --stuck-after=30");
}

/* Another version than this program's. */
static void
mount_version (const char *state, GPtrArray *findings)
{
    g_autofree char *version = doctor_value (state, "version"),
                    *library = doctor_value (state, "libfuse");
    const bool same = strcmp (version, PACKAGE_VERSION) == 0;
    struct doctor_finding *finding = doctor_find (
        findings, "version", same ? DOCTOR_OK : DOCTOR_NOTE, "%swindlass %s, libfuse %s%s",
        same ? "" : "needs restart: ", version, library,
        same ? "" : ", and this is windlass " PACKAGE_VERSION);

    if (!same)
        finding->mend = g_strdup ("unmount it, and mount it again");
}

void
doctor_mount (const struct mount *mount, GPtrArray *findings)
{
    g_autofree char *state = NULL;
    pid_t pid = 0;
    const bool alive = mount_state (mount, &pid, findings);

    if (pid > 0)
        doctor_running ("", pid, mount->path, findings);
    state = alive ? doctor_ask (mount->path, "state", NULL) : NULL;
    if (!state) {
        if (alive)
            doctor_find (findings, "daemon", DOCTOR_NOTE,
                         "it can't be asked: it is another user's, of another mount namespace, or "
                         "older than windlass 0.2");
        return;
    }
    mount_version (state, findings);
    mount_requests (mount, findings);
    mount_errors (mount, state, findings);
    mount_features (state, findings);
    mount_log (state, findings);
}
