/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "records_world.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

char records_folder[] = "records.XXXXXX";
int records_fd;

void
records_new (void)
{
    signal (SIGXFSZ, SIG_IGN);
    strcpy (records_folder + sizeof records_folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull (g_mkdtemp (records_folder));
    records_fd = open (records_folder, O_RDONLY | O_DIRECTORY);
    scheduler_begin (1);
}

void
records_free (void)
{
    scheduler_end ();
    close (records_fd);
}

/* Sets the size beyond which no file of this process grows; RLIM_INFINITY: none. */
void
records_disk_ends_at (rlim_t size)
{
    struct rlimit limit;

    getrlimit (RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    ck_assert_int_eq (setrlimit (RLIMIT_FSIZE, &limit), 0);
}

/* Lets the thread of the log do what it can without a wait. */
void
records_settle (void)
{
    while (scheduler_threads () > 0)
        scheduler_run (0);
}

/* Lets time pass, and the thread make one attempt more. */
void
records_pass (int64_t nanoseconds)
{
    records_settle ();
    scheduler_pass (nanoseconds);
    if (scheduler_timers ())
        scheduler_fire ();
    records_settle ();
}

struct record_log *
records_open (const char *name)
{
    struct record_log *log = record_log_open (RECORDS_TO_FILE, records_fd, name);

    ck_assert_msg (log, "%s: %s", name, g_strerror (errno));
    return log;
}

char *
records_path (const char *name)
{
    return g_build_filename (records_folder, name, NULL);
}

char *
records_text (const char *name)
{
    g_autofree char *path = records_path (name);
    char *text = NULL;

    ck_assert_msg (g_file_get_contents (path, &text, NULL, NULL), "no file '%s'", name);
    return text;
}

void
records_check_text (const char *name, const char *expected)
{
    g_autofree char *text = records_text (name);

    ck_assert_str_eq (text, expected);
}

off_t
records_size (const char *name)
{
    g_autofree char *path = records_path (name);
    struct stat st;

    ck_assert_int_eq (stat (path, &st), 0);
    return st.st_size;
}

void
records_move_away (const char *name, const char *to)
{
    ck_assert_int_eq (renameat (records_fd, name, records_fd, to), 0);
}
