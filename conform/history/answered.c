/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes answers to the clients' operations: adds each answer to the record of its operation,
 * and updates the inodes, names and open files, as the bridge to the kernel (src/fuse) does. */
#include "conform/history/drive.h"
#include "core/base/name.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/iobuf.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

int
drive_number (struct drive *drive, const gfid_t *gfid)
{
    int number = GPOINTER_TO_INT (g_hash_table_lookup (drive->numbers, gfid)) - 1;

    if (number < 0) {
        number = drive->files++;
        g_hash_table_insert (drive->numbers, g_memdup2 (gfid, sizeof *gfid),
                             GINT_TO_POINTER (number + 1));
    }
    return number;
}

static bool
answers_file (enum fop op)
{
    return op == FOP_lookup || op == FOP_create || op == FOP_mkdir || op == FOP_symlink;
}

/* Links the inode in the answer to its name, although another client may have removed the name by
 * now. The bridge to the kernel does the same; and as there, the answer to a lookup brings no name
 * back that was given to another file since. */
static void
link_answer (struct actor *actor, const struct answer *answer)
{
    const struct operation *seen = actor->seen;
    inode_t *linked = inode_link_asked (answer->inode, actor->inode, seen->name, answer->buf,
                                        answer->op == FOP_lookup ? seen->names_at : UINT64_MAX);

    if (answer->op == FOP_lookup) {
        inode_unref (actor->inode);
        actor->inode = inode_ref (linked);
        actor->node = seen->found;
    }
    if (answer->op == FOP_create && answer->fd->inode != linked) {
        inode_unref (answer->fd->inode);
        answer->fd->inode = inode_ref (linked);
    }
    inode_unref (linked);
}

static void
name_answer (struct actor *actor, const struct answer *answer)
{
    const struct operation *seen = actor->seen;

    if (answer->op == FOP_unlink || answer->op == FOP_rmdir)
        inode_unlink (actor->inode, seen->name);
    else if (answer->op == FOP_rename)
        inode_rename (actor->parent_inode, seen->name, actor->inode, seen->newname,
                      seen->flags & RENAME_EXCHANGE);
    else if (answer->op == FOP_link && answer->buf && answer->buf->ia_type != IA_INVAL)
        inode_unref (inode_link (actor->parent_inode, actor->inode, seen->newname, answer->buf));
}

/* --- recording ------------------------------------------------------------------------------ */

static void
see_iatt (struct operation *seen, const struct iatt *iatt)
{
    seen->has_iatt = iatt != NULL;
    if (iatt)
        seen->iatt = *iatt;
}

static void
see_read (struct operation *seen, const struct answer *answer)
{
    char *bytes = g_malloc (MAX (answer->op_ret, 1));
    const size_t size = iov_unload (bytes, answer->op_ret, answer->vector, answer->count);

    seen->data = g_bytes_new_take (bytes, size);
}

static void
see_value (struct operation *seen, const struct answer *answer)
{
    const struct getxattr_answer *rets = answer->rets;
    size_t size = 0;
    const void *value = dict_get (rets->dict, seen->name, &size);

    seen->data = value ? g_bytes_new (value, size) : NULL;
}

static char
dirent_letter (const gf_dirent_t *entry)
{
    return entry->d_type == DT_DIR ? 'd' : entry->d_type == DT_LNK ? 'l' : 'f';
}

#define CHANCE_ENTRY 200 /* kind of random decision, for drive_chance: an entry of a listing */

/* The answer to a readdirp has attributes of the entries. This function chooses one entry at
 * random, and records its attributes as the answer to a stat at the time of the readdirp. In the
 * records an observer (SEERS_MAX) has one operation at a time. So the stat belongs to a second
 * observer of the client, and the attributes of the other entries are ignored. */
static void
see_entry_attributes (struct actor *actor, const struct answer *answer)
{
    struct drive *drive = actor->drive;
    const gf_dirent_t *one = NULL;
    unsigned n = 0;
    struct operation *seen;

    for (const gf_dirent_t *entry = answer->entries; entry; entry = entry->next)
        if (entry->inode && entry->d_stat.ia_type != IA_INVAL && entry->d_name[0] != '.') {
            n++;
            if (drive_chance (drive, CHANCE_ENTRY, actor->line->number, n) % n == 0)
                one = entry;
        }
    if (!one)
        return;
    seen = drive_record (drive, FOP_stat, actor->line->number, actor->index + CLIENTS_MAX + 1);
    seen->invoked = actor->asked;
    seen->responded = drive->clock++;
    seen->has_iatt = true;
    seen->iatt = one->d_stat;
    seen->node = drive_number (drive, &one->d_stat.ia_gfid);
}

/* Compares two elements of operation.names without the letter for the type at the end of each. */
static int
by_listed_name (const void *a, const void *b)
{
    const char *one = *(char *const *) a, *other = *(char *const *) b;
    const size_t n = strlen (one) - 1, m = strlen (other) - 1;
    const int order = memcmp (one, other, MIN (n, m));

    return order ? order : (n > m) - (n < m);
}

static void
see_entries (struct operation *seen, const struct answer *answer)
{
    for (const gf_dirent_t *entry = answer->entries; entry; entry = entry->next) {
        seen->offset = entry->d_off;
        if (entry->d_name[0] != '.')
            g_ptr_array_add (seen->names,
                             g_strdup_printf ("%s%c", entry->d_name, dirent_letter (entry)));
    }
    g_ptr_array_sort (seen->names, by_listed_name);
}

/* Returns whether the model judges the attributes in the answer, which is not done for create and
 * link over cluster/replicate. If the file exists already, these return the attributes of any copy
 * that has all changes of the directory, although that copy may lack changes of the file. */
static bool
judges_made (const struct actor *actor, const struct answer *answer)
{
    return !actor->drive->has_copies || (answer->op != FOP_create && answer->op != FOP_link);
}

/* Records those results in the answer that the model judges. It does not judge the attributes in
 * the answer to a rename: they are of the inode in the call, and the name may belong to another
 * inode by the time of the rename. Nor does it judge attributes from before and after a change,
 * since a translator may leave them out (NULL); a setattr is an exception. */
static void
see_answer (struct actor *actor, struct operation *seen, const struct answer *answer)
{
    switch (answer->op) {
    case FOP_lookup:
    case FOP_create:
    case FOP_mkdir:
    case FOP_symlink:
        seen->found = answer->buf ? drive_number (actor->drive, &answer->buf->ia_gfid) : -1;
        see_iatt (seen, judges_made (actor, answer) ? answer->buf : NULL);
        break;
    case FOP_link: see_iatt (seen, judges_made (actor, answer) ? answer->buf : NULL); break;
    case FOP_stat:
    case FOP_fstat: see_iatt (seen, answer->buf); break;
    case FOP_setattr: see_iatt (seen, answer->post); break;
    case FOP_readv: see_read (seen, answer); break;
    case FOP_readlink: {
        const struct readlink_answer *rets = answer->rets;
        seen->data = g_bytes_new (rets->path, strlen (rets->path));
        break;
    }
    case FOP_getxattr: see_value (seen, answer); break;
    case FOP_readdir:
    case FOP_readdirp:
        see_entries (seen, answer);
        see_entry_attributes (actor, answer);
        break;
    default: break;
    }
}

/* --- open files ----------------------------------------------------------------------------- */

struct actor_file *
actor_file (struct actor *actor)
{
    return verb_takes (actor->line->verb, "f") ? &actor->files[actor->line->fd] : &actor->own;
}

static void
actor_keep_fd (struct actor *actor, const struct answer *answer)
{
    *actor_file (actor) = (struct actor_file){ .fd = fd_ref (answer->fd),
                                              .number = actor->seen->fd,
                                              .below = actor->below,
                                              .old = actor->old };
}

/* Processes the end of a flush or listing: the client closes the file, unless the line is the verb
 * flush. It closes the file even if the flush failed, as close(2) does. */
static void
actor_drop_fd (struct actor *actor)
{
    if (actor->line->verb != VERB_flush)
        g_clear_pointer (&actor_file (actor)->fd, fd_unref);
}

static void
fd_answer (struct actor *actor, const struct answer *answer)
{
    const bool opens = answer->op == FOP_open || answer->op == FOP_create
                    || answer->op == FOP_opendir;
    const bool lists = answer->op == FOP_readdir || answer->op == FOP_readdirp;

    if (opens && answer->op_ret >= 0)
        actor_keep_fd (actor, answer);
    if (answer->op == FOP_flush || (lists && answer->op_ret <= 0))
        actor_drop_fd (actor);
}

/* Returns whether this is the last answer for the current record. The record of a listing has
 * several calls, from the opendir to the last readdir. Any other record has one. */
static bool
is_finished (const struct answer *answer)
{
    switch (answer->op) {
    case FOP_opendir: return answer->op_ret < 0;
    case FOP_readdir:
    case FOP_readdirp: return answer->op_ret <= 0;
    default: return true;
    }
}

void
actor_log (struct actor *actor)
{
    g_autoptr (GString) out = g_string_new (NULL);

    operation_print (actor->seen, out);
    drive_log (actor->drive, "line %u, client %u: %s", actor->line->number, actor->index + 1,
               out->str);
}

void
drive_answered (const struct answer *answer)
{
    struct actor *actor = answer->frame->root->maker.asked;
    struct operation *seen = actor->seen;

    actor_number_again (actor);
    seen->fault |= bricks_excuse (actor, answer);
    seen->refused = answer->op_ret < 0 && !actor->below
                 && conform_refused (actor->drive->options, fop_name (answer->op),
                                     answer->op_errno);
    seen->inexact |= bricks_hide_names (actor->drive);
    if (answer->op_ret >= 0) {
        see_answer (actor, seen, answer);
        if (answers_file (answer->op) && seen->found >= 0 && answer->inode)
            link_answer (actor, answer);
        name_answer (actor, answer);
    }
    fd_answer (actor, answer);
    if (is_finished (answer)) {
        seen->ret = answer->op_ret;
        seen->err = answer->op_errno;
        if (seen->ret < 0 && (seen->fault || seen->interrupted) && answers_file (answer->op))
            seen->found = actor->drive->files++; /* number for a file that the call may have made */
        drive_late_answer (actor->drive, seen);
        seen->responded = actor->drive->clock++;
        actor_log (actor);
    }
    actor->answered = true;
    stack_done (answer->frame->root);
}
