/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Documented differences from a bare directory, and their reasons. The manual page
 * windlass-conform(1) is made from this table. */
#include "config.h"

#include "conform/mount/mount.h"

#include <fnmatch.h>
#include <unistd.h>

/* The condition under which a row applies. */
enum condition { ALWAYS, BY_USER, WITH_OPTION, WITH_TYPE };

struct by_design {
    const char *name; /* of the case, a glob */
    const char *line; /* of an output line on either side, a glob */
    enum condition when;
    const char *of;   /* the option or type, or NULL */
    const char *reason; /* one sentence, without a full stop */
};

static const struct by_design by_design_rows[] = {
#ifndef HAVE_STRUCT_FUSE_LOWLEVEL_OPS_TMPFILE
    { "paths/open O_TMPFILE*",
      "@(open: @(ok|EOPNOTSUPP)|what is open: f 0640, links 0,*|flags 020304*)", ALWAYS, NULL,
      "O_TMPFILE needs libfuse 3.17, and this program was built with an older libfuse" },
    { "special/a file without a name",
      "@(a file without a name: @(ok|EOPNOTSUPP)|it: f 0640, links 0,*|write: [45]|give it a name: "
      "0|named*)",
      ALWAYS, NULL,
      "O_TMPFILE needs libfuse 3.17, and this program was built with an older libfuse" },
#endif
    { "offsets/@(collapse a range|insert a range|unshare) at *",
      "@(fallocate: @(0|EINVAL|EFBIG|EOPNOTSUPP)|file: f 0644,*|it is +([0-9])|the last byte: "
      "+([0-9]))",
      ALWAYS, NULL,
      "the kernel passes on only the modes of fallocate that FUSE supports: to allocate, to punch "
      "a hole and to zero; it refuses all other modes with EOPNOTSUPP before it checks the range" },
    { "offsets/@(lseek|sendfile) at 2^@(50|62|63-1)", "@(SEEK_*|sendfile*)", ALWAYS, NULL,
      "the kernel limits a file of a mount to 2^63-1 bytes; the limit of the file system applies "
      "only when the file is written" },
    { "privileges/chown to nobody by another", "chown: @(0|EPERM)", ALWAYS, NULL,
      "if a file is open for writing, the kernel sends chown (path, -1, -1) to the daemon in the "
      "same form as the preparation of a write: the call succeeds, and changes nothing" },
    { "privileges/chown to nobody", "file: f *", ALWAYS, NULL,
      "if a file is open for writing, root's chown (path, -1, -1) also changes nothing: the kernel "
      "sends it in the same form as the preparation of a write by root, which keeps setuid" },
    { "privileges/@(write|fallocate|punch a hole|copy_file_range|sendfile) by another",
      "@(write|fallocate|punch|copy_file_range|sendfile|file): @(EPERM|[0-9]*|f *)", ALWAYS, NULL,
      "if a file became setuid after it was opened, and the kernel itself writes the file "
      "(passthrough), a process that may not chown the file cannot write it: the kernel asks the "
      "daemon to remove setuid in the same form as chown (path, -1, -1) by another user" },
    { "times/chown to nobody", "file: atime 0, mtime 0, ctime [01];*", ALWAYS, NULL,
      "if a file is open for writing, the kernel sends chown (path, -1, -1) to the daemon in the "
      "same form as the preparation of a write, which does not change any time yet" },
    { "times/of reading", "atime moved*", ALWAYS, NULL,
      "the kernel returns cached data without a request to the daemon, so the atime of the file "
      "does not change" },
    { "unlinked/*", "it: f ????, links [01],*", WITH_TYPE, "features/trash",
      "a removed file that is open is kept in the trash, so it still has a link: "
      "features-trash(7)" },
    { "rename/*, whiteout", "*", WITH_TYPE, "cluster/overlay",
      "a view refuses RENAME_WHITEOUT with EINVAL, as the kernel's overlayfs does: the whiteouts "
      "in its upper layer are its own" },
    { "times/read", "file: atime [01]*", WITH_TYPE, "features/utime",
      "reading does not change the atime, unless the option noatime is off: features-utime(7)" },
    { "paths/opendir: *", "times of the *: atime @(moves|stays), mtime stays", WITH_TYPE,
      "features/utime",
      "listing a directory does not change its atime either, unless the option noatime is off: "
      "features-utime(7)" },
    { "mapped/the end of the file", "what was behind the end*", ALWAYS, NULL,
      "the kernel caches data that a program stores through a mapping beyond the end of a file, "
      "and shows the data when the file grows" },
    { "rename/*directory*, whiteout", "times of the directory*", ALWAYS, NULL,
      "ext4 creates the whiteout before it checks whether the rename is allowed, and the kernel "
      "expects that a failed call changes nothing" },
    { "locks/*wanted: @(record|description)*", "type *by the parent*", WITH_OPTION,
      "lock-forwarding",
      "FUSE does not distinguish the locks of a process from those of an open file description: "
      "the answer names the holder in the form of the question" },
    { "privileges/a shared map takes capabilities", "it has now*", ALWAYS, NULL,
      "the daemon writes to the file the data that a program stored through a mapping, and this "
      "write removes capabilities" },
    { "privileges/a shared map", "file: f *", BY_USER, NULL,
      "the daemon of an ordinary user writes to the file the data that a program stored through a "
      "mapping, and like each write of an ordinary user this removes setuid and setgid" },
    { "privileges/@(ftruncate|truncate|open O_TRUNC) by another", "file: f ?[67][46][567],*",
      WITH_OPTION, "idmapped-mounts",
      "with this option the kernel itself removes setgid, but not from a file that its group may "
      "not execute" },
    { "xattrs/trusted.x of *", "@(the list: *|*trusted.x)", WITH_OPTION, "idmapped-mounts",
      "with this option the kernel does not name the caller, so no list contains the names of "
      "trusted attributes" },
    { "paths/truncate to the same*", "times of the object*", WITH_OPTION, "kernel-writeback-cache",
      "with this option the kernel keeps the times, and sets no new time if the size does not "
      "change" },
    { "privileges/chmod takes capabilities", "it has now: @(20|ENODATA)", WITH_OPTION,
      "kernel-writeback-cache",
      "the kernel writes the data that it has delayed before it changes the mode, and this write "
      "removes capabilities" },
    { "attributes/file flags", "open to append*", WITH_OPTION, "kernel-writeback-cache",
      "the kernel itself determines the position of appended data, so the daemon opens the file "
      "without O_APPEND" },
    { "times/@(read|a shared map)", "file: atime*", WITH_OPTION, "kernel-writeback-cache",
      "the kernel reads the written data from its own cache" },
    { "times/set to @(before 1901|after 2446|the largest|the smallest)", "atime * mtime *",
      WITH_OPTION, "kernel-writeback-cache",
      "the kernel itself keeps the time of a change, and limits it to the range of the file system "
      "only when it forgets the file" },
    { "offsets/@(pwrite|splice) at 2^@(50|62)",
      "@(pwrite|read it|it is|splice to it|splice from it)*", WITH_OPTION, "kernel-writeback-cache",
      "the kernel accepts writes beyond the maximum file size of the file system; fsync or close "
      "fails with EFBIG" },
    { "@(offsets|mapped|unlinked)*", "@(SEEK_DATA|SEEK_HOLE|data from|size)*", WITH_OPTION,
      "kernel-writeback-cache",
      "data that the kernel has not yet written would look like a hole to the daemon, so the "
      "daemon reports the complete file as data" },
};

static bool
row_counts (const struct by_design *row, const struct stage *stage)
{
    switch (row->when) {
    case ALWAYS: return true;
    case BY_USER: return geteuid () != 0;
    case WITH_OPTION: return stage_has_option (stage, row->of);
    case WITH_TYPE: return stage_has_type (stage, row->of);
    }
    return false;
}

const char *
by_design_reason (const struct stage *stage, const char *case_name, const char *line)
{
    for (size_t i = 0; i < G_N_ELEMENTS (by_design_rows); i++)
        if (fnmatch (by_design_rows[i].name, case_name, FNM_EXTMATCH) == 0
            && fnmatch (by_design_rows[i].line, line, FNM_EXTMATCH) == 0
            && row_counts (&by_design_rows[i], stage))
            return by_design_rows[i].reason;
    return NULL;
}

bool
by_design_log (const char *line)
{
    return false;
}

/* --- printing ------------------------------------------------------------------------------- */

static char *
condition_text (const struct by_design *row)
{
    switch (row->when) {
    case ALWAYS: return g_strdup ("always");
    case BY_USER: return g_strdup ("if an ordinary user mounts");
    case WITH_OPTION: return g_strdup_printf ("with the mount option %s", row->of);
    case WITH_TYPE: return g_strdup_printf ("with %s in the graph", row->of);
    }
    return NULL;
}

static void
print_roff (const char *text)
{
    for (; *text; text++)
        fputs (*text == '-'    ? "\\-"
               : *text == '\\' ? "\\e"
               : *text == '\'' ? "\\(aq"
                               : (char[]){ *text, '\0' },
               stdout);
}

static void
print_man (const struct by_design *row, const char *when)
{
    g_autofree char *sentence = g_strdup_printf ("%c%s.\n", g_ascii_toupper (*row->reason),
                                                 row->reason + 1);

    /* Not .TP, which begins the text on the last line of a tag with several lines. */
    printf (".PP\n\\fB");
    print_roff (row->name);
    printf ("\\fR, ");
    print_roff (when);
    printf ("\n.RS\n");
    print_roff (sentence);
    printf (".br\nLines: ");
    print_roff (row->line);
    printf ("\n.RE\n");
}

void
conform_print_by_design (bool man)
{
    for (size_t i = 0; i < G_N_ELEMENTS (by_design_rows); i++) {
        g_autofree char *when = condition_text (&by_design_rows[i]);

        if (man)
            print_man (&by_design_rows[i], when);
        else
            printf ("%s, %s: %s\n    lines: %s\n", by_design_rows[i].name, when,
                    by_design_rows[i].reason, by_design_rows[i].line);
    }
}
