/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Log lines, and the text that a trace prints of a request: a line remains a single line, whatever
 * names and values contain. */
#include "fuzz.h"

#include "core/data/dict.h"
#include "core/data/iatt.h"
#include "core/data/loc.h"
#include "core/base/log.h"
#include "core/table/print-values.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int fuzz_log_file;

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
    char path[32];

    fuzz_log_file = memfd_create ("log", MFD_CLOEXEC);
    snprintf (path, sizeof path, "/proc/self/fd/%d", fuzz_log_file);
    g_assert (fuzz_log_file >= 0 && log_open (path) == 0);
    log_set_level (GF_LOG_TRACE);
    return 0;
}

/* Returns the line that was written since the last call. */
static void
check_line (void)
{
    const off_t size = lseek (fuzz_log_file, 0, SEEK_END);
    g_autofree char *text = g_malloc0 (size + 1);

    g_assert (size > 1 && pread (fuzz_log_file, text, size, 0) == size);
    g_assert (text[size - 1] == '\n');
    text[size - 1] = '\0';
    g_assert (strlen (text) == (size_t) size - 1 && is_one_line (text));
    g_assert (ftruncate (fuzz_log_file, 0) == 0);
}

static void
log_values (const char *name, struct input *input)
{
    g_autoptr (GString) out = g_string_new (NULL);
    g_autoptr (dict_t) dict = dict_new ();
    g_autoptr (GBytes) bytes = g_bytes_new (input->at, input->left);
    struct iatt iatt = { 0 };
    struct gf_flock lock = { 0 };
    struct statvfs statvfs = { 0 };
    loc_t loc = { .name = name };

    memcpy (&iatt, input->at, MIN (input->left, sizeof iatt));
    memcpy (&lock, input->at, MIN (input->left, sizeof lock));
    memcpy (&statvfs, input->at, MIN (input->left, sizeof statvfs));
    /* A value that the enum does not have. */
    iatt.ia_type = (unsigned) iatt.ia_type % (IA_IFSOCK + 1);
    dict_set (dict, name, input->at, input->left);
    print_LOC (out, "loc", &loc);
    print_NAME (out, "name", name);
    print_DICT (out, "xdata", dict);
    print_IATT (out, "buf", &iatt);
    print_LOCK (out, "lock", &lock);
    print_STATVFS (out, "statvfs", &statvfs);
    print_BYTES (out, "in", bytes);
    loc_wipe_path (&loc);
    gf_log (NULL, GF_LOG_TRACE, "%s", out->str);
    check_line ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    g_autofree char *name = input_line (&input);
    gf_loglevel_t level;

    if (log_level_parse (name, &level) == 0)
        g_assert (log_level_name (level));
    gf_log (NULL, GF_LOG_WARNING, "can't find '%s'", name);
    check_line ();
    log_values (name, &input);
    return 0;
}
