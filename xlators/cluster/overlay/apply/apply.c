/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command: the parts of an apply in their order, and what it prints. */
#include "apply.h"

void
apply_item_free (void *data)
{
    struct apply_item *item = data;

    inode_unref (item->upper_directory);
    inode_unref (item->upper);
    inode_unref (item->base_directory);
    inode_unref (item->base);
    inode_unref (item->made);
    inode_unref (item->moves);
    g_free (item->path);
    g_free (item->name);
    g_free (item->from);
    g_free (item->temporary);
    g_free (item->away);
    g_free (item);
}

void
apply_begin (struct apply *apply, struct job *job, struct overlay_order *order)
{
    *apply = (struct apply){ .job = job, .order = order, .from = order->from,
                             .between = order->from + 1, .done = "applied",
                             .nothing = "nothing was applied",
                             .base = overlay_priv (order->this)->n - 1 };
    order->equal = true;
    apply->items = g_ptr_array_new_with_free_func (apply_item_free);
    apply->by_path = g_hash_table_new (g_str_hash, g_str_equal);
    apply->links = g_hash_table_new (gfid_hash, gfid_same);
    apply->hindrances = g_string_new (NULL);
    overlay_act_begin (&apply->act, order->this, NULL, realm_root_above (order->this));
}

void
apply_end (struct apply *apply)
{
    overlay_act_end (&apply->act);
    g_hash_table_unref (apply->links);
    g_hash_table_unref (apply->by_path);
    g_ptr_array_unref (apply->items);
    g_string_free (apply->hindrances, TRUE);
}

static bool
apply_stays (const struct apply_item *item)
{
    return item->done && item->upper && !item->link_of && !item->away
        && item->upper_buf.ia_type != IA_IFDIR;
}

static void
apply_print_json (struct apply *apply)
{
    struct json json = { .out = g_string_new (NULL) };

    json_open (&json, NULL, '{');
    json_number (&json, "applied", apply->dropped);
    json_number (&json, "held_us", (uint64_t) apply->held / 1000);
    json_open (&json, "changed_again", '[');
    for (guint i = 0; i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        if (apply_stays (item))
            json_string (&json, NULL, item->path);
    }
    json_close (&json, ']');
    json_close (&json, '}');
    job_print (apply->job, "%s\n", json.out->str);
    g_string_free (json.out, TRUE);
}

static void
apply_print (struct apply *apply)
{
    if (apply->order->json) {
        apply_print_json (apply);
        return;
    }
    job_print (apply->job, "%u changes applied; requests waited for %.1f ms\n", apply->dropped,
               (double) apply->held / 1e6);
    for (guint i = 0; i < apply->items->len; i++) {
        const struct apply_item *item = apply->items->pdata[i];

        if (apply_stays (item))
            job_print (apply->job, "'%s' was changed again meanwhile: that is a further change\n",
                       item->path);
    }
}

/* A plan counts only if no directory was renamed while it was made. Returns whether it counts; the
 * apply has ended if it does not. */
static bool
apply_look (struct apply *apply, struct job *job, struct overlay_order *order, int *ret_r)
{
    const unsigned moves = overlay_moves (order->this);

    apply_begin (apply, job, order);
    *ret_r = apply_clean (apply);
    if (*ret_r == 0)
        *ret_r = apply_plan (apply);
    if (!overlay_moved_since (order->this, moves))
        return true;
    apply_end (apply);
    return false;
}

/* An error of the base after some changes does not keep those in the view. */
static int
apply_carry_out (struct apply *apply)
{
    int r, s;

    if (apply->items->len == 0)
        return 0;
    r = apply_make_objects (apply);
    if (r < 0) {
        (void) apply_clean (apply);
        return r;
    }
    r = apply_to_base (apply);
    s = apply_drop (apply);
    if (apply_clean (apply) == 0) {
        (void) store_write (overlay_priv (apply->act.this)->records);
        if (r == 0 && s == 0)
            s = apply_times_again (apply);
    }
    return r < 0 ? r : s;
}

int
overlay_apply (struct job *job, struct overlay_order *order)
{
    struct apply apply;
    unsigned tries = 0;
    int r;

    if (!*order->paths) {
        job_refuse (job, "a path is missing: '/' stands for everything");
        return -EINVAL;
    }
    while (!apply_look (&apply, job, order, &r))
        if (++tries == OVERLAY_MOVES_TRIES) {
            job_refuse (job, "programs rename directories of the view all the time; nothing was "
                        "applied");
            return -EBUSY;
        }
    if (r == 0)
        r = apply_carry_out (&apply);
    if (r == 0)
        apply_print (&apply);
    apply_end (&apply);
    return r;
}
