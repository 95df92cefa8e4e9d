/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which process has removed what lies in a stage. The stage names its first remover, also in its
 * attribute, for the next daemon. Once another process removes there, the attribute names none: of
 * what a killed daemon leaves in that stage the remover is unknown. The stage itself remembers the
 * others for their names, in memory.
 *
 * A removal by the process that made the stage costs no system call, but for one look at /proc in a
 * tenth of a second: the process may have executed another program, or have ended and left its
 * number to a later one.
 */
#include "../trash.h"

#include <string.h>

#define REMOVER_LOOK (G_GINT64_CONSTANT (100000000)) /* nanoseconds between two looks */

struct remover {
    pid_t pid;                       /* of the process */
    char program[PROCESS_NAME_SIZE]; /* "": unknown */
};

void
trash_stage_begin (struct trash_stage *stage, const struct trash_who *who)
{
    stage->who = *who;
    stage->thread = who->pid;
    stage->who.pid = process_of_thread (who->pid, clock_roughly ());
    stage->mark = process_mark (stage->who.pid);
    stage->looked = clock_roughly ();
    stage->program = process_comm (stage->who.pid);
}

static bool
is_first_remover (struct trash_stage *stage, pid_t thread)
{
    const int64_t now = clock_roughly ();

    if (thread != stage->thread && process_of_thread (thread, now) != stage->who.pid)
        return false;
    if (now - __atomic_load_n (&stage->looked, __ATOMIC_RELAXED) < REMOVER_LOOK)
        return true;
    if (process_mark (stage->who.pid) != stage->mark)
        return false;
    __atomic_store_n (&stage->looked, now, __ATOMIC_RELAXED);
    return true;
}

bool
trash_stage_admits (struct trash_stage *stage, pid_t thread)
{
    return __atomic_load_n (&stage->shared, __ATOMIC_ACQUIRE) || is_first_remover (stage, thread);
}

void
trash_stage_admit (xlator_t *this, struct trash_stage *stage, pid_t thread)
{
    if (trash_stage_admits (stage, thread))
        return;
    trash_stage_place (trash_priv (this)->maker.client, stage, true);
    __atomic_store_n (&stage->shared, true, __ATOMIC_RELEASE);
}

/* Storage without attributes loses the path only if the daemon is killed. */
void
trash_stage_place (struct client *client, const struct trash_stage *stage, bool shared)
{
    g_autofree char *text = trash_place_text (stage, shared);
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = stage->folder };

    dict_set (dict, TRASH_PLACE, text, strlen (text));
    sync_setxattr (client, &loc, dict, 0, NULL, NULL);
    loc_wipe_path (&loc);
}

void
trash_stage_note (xlator_t *this, struct trash_stage *stage, const char *name, pid_t thread)
{
    trash_private_t *priv = this->private;
    struct remover *remover;

    if (!__atomic_load_n (&stage->shared, __ATOMIC_ACQUIRE) || is_first_remover (stage, thread))
        return;
    remover = g_new0 (struct remover, 1);
    remover->pid = process_of_thread (thread, clock_roughly ());
    if (!process_name (remover->pid, remover->program))
        *remover->program = '\0';
    pthread_mutex_lock (&priv->lock);
    if (!stage->others)
        stage->others = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    g_hash_table_replace (stage->others, g_strdup (name), remover);
    pthread_mutex_unlock (&priv->lock);
}

pid_t
trash_stage_remover (const struct trash_stage *stage, const char *name, const char **ret_program)
{
    const struct remover *other = stage->others ? g_hash_table_lookup (stage->others, name) : NULL;

    *ret_program = other ? (*other->program ? other->program : NULL) : stage->program;
    return other ? other->pid : stage->who.pid;
}
