/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SIGUSR1, windlass statedump: writes the state of the daemon to a file. Sections, keys and their
 * order are those of GlusterFS if their meaning is the same; a translator's section also has its
 * name. */
#include "daemon/statedump/internal.h"

#include "core/base/printable.h"
#include "core/base/rundir.h"
#include "core/work/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void
statedump_append_time (GString *out, const char *key)
{
    struct timespec now;
    struct tm tm;
    char text[32];

    clock_gettime (CLOCK_REALTIME, &now);
    gmtime_r (&now.tv_sec, &tm);
    strftime (text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    g_string_append_printf (out, "%s: %s.%06ld +0000\n", key, text, now.tv_nsec / 1000);
}

/* GlusterFS's dumps have no such section: it is left out if there is no job. */
static void
statedump_append_jobs (GString *out)
{
    const unsigned n = jobs_count ();

    if (n > 0) {
        g_string_append_printf (out, "\n[global.jobs]\njobs.cnt=%u\n", n);
        jobs_list (out);
    }
}

static void
statedump_append_all (GString *out, const struct running *running, const struct dump_wanted *wanted)
{
    statedump_append_time (out, "DUMP-START-TIME");
    dump_memory (out, wanted);
    if (wanted->callpool) {
        dump_requests (out);
        statedump_append_jobs (out);
    }
    dump_translator (out, bridge_xlator (running->bridge), wanted);
    dump_inodes (out, running, wanted);
    dump_translators (out, running->graph, wanted);
    g_string_append_c (out, '\n');
    statedump_append_time (out, "DUMP-END-TIME");
}

/* Functions that write return NULL, or why it failed (g_free it). A reader never sees half of a
 * dump. */

static char *
write_to (const char *path, const GString *out)
{
    g_autoptr (GError) error = NULL;

    g_file_set_contents_full (path, out->str, (gssize) out->len, G_FILE_SET_CONTENTS_CONSISTENT,
                              0600, &error);
    return error ? g_strdup (error->message) : NULL;
}

static char *
write_to_run_dir (const char *name, const GString *out, char **path)
{
    char *written = NULL;
    const int r = run_dir_write (name, out->str, out->len, &written);

    if (r == 0) {
        g_free (*path);
        *path = written;
    }

    return r < 0 ? g_strdup (g_strerror (-r)) : NULL;
}

/* The second dump of a second ends in "-2". Freed with g_free. */
static char *
new_name (void)
{
    static time_t last; /* the main thread's, as all here */
    static unsigned number;
    const time_t now = time (NULL);
    g_autofree char *name = g_strdup_printf ("windlassdump.%d.dump.%lld", getpid (),
                                             (long long) now);

    number = now == last ? number + 1 : 1;
    last = now;
    return number == 1 ? g_steal_pointer (&name) : g_strdup_printf ("%s-%u", name, number);
}

int
statedump (const struct running *running, GString *answer)
{
    g_autoptr (GString) out = g_string_new (NULL);
    g_autofree char *dir = run_dir (), *path = NULL, *error = NULL;
    g_autofree char *name = new_name ();
    struct dump_wanted wanted;

    dump_wanted_read (&wanted, dir);
    path = g_build_filename (wanted.path ? wanted.path : dir, name, NULL);
    statedump_append_all (out, running, &wanted);
    error = wanted.path ? write_to (path, out) : write_to_run_dir (name, out, &path);
    g_free (wanted.path);
    if (error) {
        gf_log (NULL, GF_LOG_ERROR, "can't dump the state to '%s': %s", path, error);
        g_string_append_printf (answer, "can't dump the state to '%s': %s", path, error);
        return -EIO;
    }
    gf_log (NULL, GF_LOG_INFO, "state dumped to '%s'", path);
    dump_keep (path);
    g_string_append_printf (answer, "%s\n", path);
    return 0;
}
