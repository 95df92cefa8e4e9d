/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass doctor VOLFILE. */
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "core/base/path-question.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LOOK_PATIENCE 5000 /* milliseconds for a directory, which may be on a server */

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define ZFS_SUPER_MAGIC 0x2fc12fc1 /* not in the kernel's headers */

/* --- a directory ------------------------------------------------------------------------------ */

static const char *
volfile_file_system (long type)
{
    static const struct {
        long type;
        const char *name;
    } names[] = {
        { EXT4_SUPER_MAGIC, "ext4" },     { XFS_SUPER_MAGIC, "xfs" },
        { BTRFS_SUPER_MAGIC, "btrfs" },   { TMPFS_MAGIC, "tmpfs" },
        { OVERLAYFS_SUPER_MAGIC, "overlayfs" }, { NFS_SUPER_MAGIC, "NFS" },
        { FUSE_SUPER_MAGIC, "FUSE" },     { ZFS_SUPER_MAGIC, "ZFS" },
        { MSDOS_SUPER_MAGIC, "FAT" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
        if (names[i].type == type)
            return names[i].name;
    return "another file system";
}

/* Whether the file system has this attribute, as far as a question without a change can tell. */
static bool
volfile_lacks_xattr (const char *path, const char *name)
{
    return getxattr (path, name, NULL, 0) < 0 && errno == ENOTSUP;
}

/* A file without a name is not seen by anybody. */
static bool
volfile_lacks_direct (const char *path)
{
    const int fd = open (path, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
    const bool lacks = fd < 0 && errno == EINVAL;

    if (fd >= 0)
        close (fd);
    return lacks;
}

/* In another process. The first character of the text is the state: "0ext4", "1tmpfs; ...". */
static void
volfile_ask (const char *path, const void *data, struct path_answer *answer)
{
    g_autoptr (GString) notes = g_string_new (NULL);
    struct statfs fs;
    struct stat st;

    if (stat (path, &st) < 0 || statfs (path, &fs) < 0) {
        answer->error = errno;
        return;
    }
    if (!S_ISDIR (st.st_mode)) {
        answer->error = ENOTDIR;
        return;
    }
    if (access (path, R_OK | X_OK) < 0)
        g_string_append (notes, "; this user may not read it");
    else if (access (path, W_OK) < 0)
        g_string_append (notes, errno == EROFS ? "; it is read-only"
                                               : "; this user may not write it");
    if (volfile_lacks_xattr (path, "user.windlass"))
        g_string_append (notes, "; no extended attributes of users");
    if (volfile_lacks_xattr (path, "system.posix_acl_access"))
        g_string_append (notes, "; no ACLs");
    if (volfile_lacks_direct (path))
        g_string_append (notes, "; no O_DIRECT");
    if (fs.f_type == OVERLAYFS_SUPER_MAGIC)
        g_string_append (notes, "; no passthrough, which takes no stacked file system");
    g_snprintf (answer->text, sizeof answer->text, "%c%s%s", notes->len ? '1' : '0',
                volfile_file_system (fs.f_type), notes->str);
}

static void
volfile_directory (const xlator_t *xl, const char *path, GPtrArray *findings)
{
    struct path_answer answer;

    if (!path_ask (volfile_ask, path, NULL, LOOK_PATIENCE, &answer))
        doctor_find (findings, "directory", DOCTOR_PROBLEM,
                     "%s of volume '%s' does not answer within 5 seconds", path, xl->name);
    else if (answer.error)
        doctor_find (findings, "directory", DOCTOR_PROBLEM, "%s of volume '%s': %s", path, xl->name,
                     g_strerror (answer.error))
            ->mend = answer.error == ENOENT ? doctor_command ("mkdir %s", path) : NULL;
    else
        doctor_find (findings, "directory", *answer.text == '0' ? DOCTOR_OK : DOCTOR_NOTE,
                     "%s of volume '%s' is on %s", path, xl->name, answer.text + 1);
}

/* --- the graph -------------------------------------------------------------------------------- */

static void
volfile_problems (const struct graph *graph, GPtrArray *findings)
{
    for (guint i = 0; i < graph->volfile->problems->len; i++) {
        const struct problem *problem = graph->volfile->problems->pdata[i];
        const enum doctor_state state = problem->warning ? DOCTOR_NOTE : DOCTOR_PROBLEM;

        if (problem->line > 0)
            doctor_find (findings, "volfile", state, "%s:%d:%d: %s", graph->volfile->path,
                         problem->line, problem->column, problem->text);
        else
            doctor_find (findings, "volfile", state, "%s: %s",
                         problem->line == LINE_OF_COMMAND ? "command line" : graph->volfile->path,
                         problem->text);
    }
}

/* What a mount needs besides the volfile. */
static void
volfile_decider (const xlator_t *xl, GPtrArray *findings)
{
    struct doctor_finding *finding = doctor_find (
        findings, "rights", DOCTOR_NOTE,
        "volume '%s' (%s) decides about rights only with acl=translator", xl->name, xl->type);

    finding->costs = g_strdup ("without it the kernel decides first");
    finding->mend = g_strdup ("mount it with -o acl=translator");
}

static void
volfile_volume (const xlator_t *xl, GPtrArray *findings)
{
    if (strcmp (xl->type, "system/posix-acl") == 0)
        volfile_decider (xl, findings);
    for (guint i = 0; xl->settings && i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];

        if (strcmp (xl->type, "storage/posix") == 0 && setting->text
            && strcmp (setting->option->key[0], "directory") == 0)
            volfile_directory (xl, setting->text, findings);
    }
}

/* Returns the first translator that may do something before a request comes, or NULL. */
static const xlator_t *
volfile_active (const struct graph *graph)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];

        if (!xl->api->passive)
            return xl;
    }
    return NULL;
}

static void
volfile_mount (const struct graph *graph, const char *path, GPtrArray *findings)
{
    const xlator_t *active = volfile_active (graph);

    if (strcmp (path, "-") == 0)
        doctor_find (findings, "a mount of it", DOCTOR_OK,
                     "not tried: the standard input can't be read again");
    else if (active)
        doctor_find (findings, "a mount of it", DOCTOR_OK,
                     "not tried: volume '%s' (%s) may change files, or talks to a server, as soon "
                     "as it is mounted",
                     active->name, active->type);
    else
        doctor_attempt_volfile (path, findings);
}

void
doctor_volfile (const char *path, bool try, GPtrArray *findings)
{
    const struct graph_settings settings = { .inode_limit = 1024 };
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (path, &error);
    const guint before = findings->len;
    struct graph *graph;

    if (!volfile) {
        doctor_find (findings, "volfile", DOCTOR_PROBLEM, "%s", error);
        return;
    }
    graph = graph_load (volfile, &settings);
    volfile_problems (graph, findings);
    if (!volfile_has_errors (graph->volfile)) {
        if (findings->len == before)
            doctor_find (findings, "volfile", DOCTOR_OK, "%s: %u volume%s, top '%s'", path,
                         graph->xlators->len, graph->xlators->len == 1 ? "" : "s",
                         graph->top->name);
        for (guint i = 0; i < graph->xlators->len; i++)
            volfile_volume (graph->xlators->pdata[i], findings);
        if (try)
            volfile_mount (graph, path, findings);
    }
    graph_free (graph);
}
