/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Documented differences from a bare directory, and their reasons. The manual page
 * windlass-conform(8) is made from this table. */
#include "config.h"

#include "conform/mount/mount.h"

#include <fnmatch.h>

/* The condition under which a row applies. */
enum condition { ALWAYS, AS_USER, WITH_OPTION, WITH_TYPE };

struct by_design {
    const char *name; /* of the case, a glob */
    const char *line; /* of an output line on either side, a glob */
    enum condition when;
    const char *of;   /* the option or type, or NULL */
    const char *reason; /* one sentence, without a full stop */
};

static const struct by_design rows[] = {
#ifndef HAVE_STRUCT_FUSE_LOWLEVEL_OPS_TMPFILE
    { "paths/open O_TMPFILE*",
      "@(open: @(ok|EOPNOTSUPP)|what is open: f 0640, links 0,*|flags 020304*)", ALWAYS, NULL,
      "O_TMPFILE needs libfuse 3.17, and this was built with an older one" },
    { "special/a file without a name",
      "@(a file without a name: @(ok|EOPNOTSUPP)|it: f 0640, links 0,*|write: [45]|give it a name: "
      "0|named*)",
      ALWAYS, NULL, "O_TMPFILE needs libfuse 3.17, and this was built with an older one" },
#endif
    { "offsets/@(collapse a range|insert a range|unshare) at *",
      "@(fallocate: @(0|EINVAL|EFBIG|EOPNOTSUPP)|file: f 0644,*|it is +([0-9])|the last byte: "
      "+([0-9]))",
      ALWAYS, NULL,
      "the kernel passes on only those modes of fallocate that FUSE has, to make room, to punch "
      "and to zero, and refuses the others"
      " with EOPNOTSUPP, before it looks at the range" },
    { "offsets/@(lseek|sendfile) at 2^@(50|62|63-1)", "@(SEEK_*|sendfile*)", ALWAYS, NULL,
      "the kernel lets a file of a mount be 2^63-1 bytes long until it is written; the limit of "
      "the file system counts then" },
    { "privileges/chown to nobody by another", "chown: @(0|EPERM)", ALWAYS, NULL,
      "the kernel tells chown (path, -1, -1) of a file that is open to write like a write that is "
      "about to come: it succeeds, and changes"
      " nothing" },
    { "privileges/chown to nobody", "file: f *", ALWAYS, NULL,
      "root's chown (path, -1, -1) of a file that is open to write changes nothing either: the "
      "kernel tells it like a write of root's, which"
      " leaves setuid" },
    { "privileges/@(write|fallocate|punch a hole|copy_file_range|sendfile) by another",
      "@(write|fallocate|punch|copy_file_range|sendfile|file): @(EPERM|[0-9]*|f *)", ALWAYS, NULL,
      "a file that became setuid after it was opened, and that the kernel writes itself "
      "(passthrough), is not written by a process that may"
      " not chown it: the kernel asks for setuid to be taken away as a stranger's chown (path, -1, "
      "-1) would" },
    { "times/chown to nobody", "file: atime 0, mtime 0, ctime [01];*", ALWAYS, NULL,
      "the kernel tells chown (path, -1, -1) of a file that is open to write like a write that is "
      "about to come, which changes"
      " no time yet" },
    { "times/of reading", "atime moved*", ALWAYS, NULL,
      "what the kernel has in its cache is read without a word to the daemon, and the file's atime "
      "stays" },
    { "times/read", "file: atime [01]*", WITH_TYPE, "features/utime",
      "reading moves no atime, unless the option noatime is off: features-utime(7)" },
    { "paths/opendir: *", "times of the *: atime @(moves|stays), mtime stays", WITH_TYPE,
      "features/utime",
      "listing moves no atime either, unless the option noatime is off: features-utime(7)" },
    { "mapped/the end of the file", "what was behind the end*", ALWAYS, NULL,
      "the kernel keeps what a map wrote behind a file's end in its cache, and shows it when the "
      "file grows" },
    { "rename/*directory*, whiteout", "times of the directory*", ALWAYS, NULL,
      "ext4 makes the whiteout before it looks whether it may rename, and the kernel expects no "
      "change of a call that failed" },
    { "locks/*wanted: @(record|description)*", "type *by the parent*", WITH_OPTION,
      "lock-forwarding",
      "FUSE does not tell a process's locks from a description's: who holds one is named in the "
      "way it was asked" },
    { "privileges/a shared map takes capabilities", "it has now*", ALWAYS, NULL,
      "what a map wrote comes to the file by a write of the daemon, and that takes capabilities "
      "away" },
    { "privileges/@(ftruncate|truncate|open O_TRUNC) by another", "file: f ?[67][46][567],*",
      WITH_OPTION, "idmapped-mounts",
      "the kernel takes setgid away itself then, but not from a file that its group may not "
      "execute" },
    { "xattrs/trusted.x of *", "@(the list: *|*trusted.x)", WITH_OPTION, "idmapped-mounts",
      "the kernel names no caller then, so the names of trusted attributes are in no list" },
    { "paths/truncate to the same*", "times of the object*", WITH_OPTION, "kernel-writeback-cache",
      "the kernel, which keeps the times then, takes no new one for a size that stays" },
    { "privileges/chmod takes capabilities", "it has now: @(20|ENODATA)", WITH_OPTION,
      "kernel-writeback-cache",
      "the kernel writes what it kept back before it changes the mode, and that takes capabilities "
      "away" },
    { "attributes/file flags", "open to append*", WITH_OPTION, "kernel-writeback-cache",
      "the kernel itself places what is appended, and the daemon opens the file to write "
      "anywhere" },
    { "times/@(read|a shared map)", "file: atime*", WITH_OPTION, "kernel-writeback-cache",
      "what was written is read from the kernel's cache" },
    { "times/set to @(before 1901|after 2446|the largest|the smallest)", "atime * mtime *",
      WITH_OPTION, "kernel-writeback-cache",
      "the kernel keeps the time of a change itself, and only when it forgets the file is it cut "
      "to what the file system can hold" },
    { "offsets/@(pwrite|splice) at 2^@(50|62)",
      "@(pwrite|read it|it is|splice to it|splice from it)*", WITH_OPTION, "kernel-writeback-cache",
      "the kernel takes what is written behind the largest size of the file system; fsync or close "
      "says EFBIG" },
    { "@(offsets|mapped|unlinked)*", "@(SEEK_DATA|SEEK_HOLE|data from|size)*", WITH_OPTION,
      "kernel-writeback-cache",
      "data that the kernel still holds would look like a hole to the daemon, so all of a file is "
      "data then" },
};

static bool
row_counts (const struct by_design *row, const struct stage *stage, const struct actor *actor)
{
    switch (row->when) {
    case ALWAYS: return true;
    case AS_USER: return actor->uid != 0;
    case WITH_OPTION: return stage_has_option (stage, row->of);
    case WITH_TYPE: return stage_has_type (stage, row->of);
    }
    return false;
}

const char *
by_design_reason (const struct stage *stage, const struct actor *actor, const char *case_name,
                  const char *line)
{
    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        if (fnmatch (rows[i].name, case_name, FNM_EXTMATCH) == 0
            && fnmatch (rows[i].line, line, FNM_EXTMATCH) == 0
            && row_counts (&rows[i], stage, actor))
            return rows[i].reason;
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
    case AS_USER: return g_strdup ("not as root");
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
    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++) {
        g_autofree char *when = condition_text (&rows[i]);

        if (man)
            print_man (&rows[i], when);
        else
            printf ("%s, %s: %s\n    lines: %s\n", rows[i].name, when, rows[i].reason,
                    rows[i].line);
    }
}
