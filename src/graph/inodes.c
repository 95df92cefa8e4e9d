/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables of inodes of a graph: that of the mount, and one for each realm. */
#include "graph/internal.h"

#include "core/base/audit.h"
#include "core/realm/realm.h"

#include <string.h>

/* --- the end of inodes and fds ---------------------------------------------------------------- */

static void
xlator_forget (xlator_t *xl, inode_t *inode)
{
    if (!__atomic_load_n (&xl->ready, __ATOMIC_RELAXED))
        return;
    if (G_UNLIKELY (xl->slots))
        realm_forget (xl, inode);
    if (xl->inode_slot < 0 || !inode_ctx_get (inode, xl))
        return;
    if (xl->api->cbks.forget)
        xl->api->cbks.forget (xl, inode);
    else if (G_UNLIKELY (audit) && audit->context_left)
        audit->context_left (xl, "forget", inode_ctx_get (inode, xl));
}

/* Tells the translators of a realm that one of its inodes ends. realm NULL: an inode of the mount,
 * and the translators that are in no realm. */
static void
inode_leave (const struct graph *graph, const struct realm *realm, inode_t *inode)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (xl->realm == realm)
            xlator_forget (xl, inode);
    }
}

static void
graph_forget (inode_t *inode, void *data)
{
    inode_leave (data, NULL, inode);
}

static void
graph_forget_in_realm (inode_t *inode, void *data)
{
    const struct realm *realm = data;

    inode_leave (realm->graph, realm, inode);
}

static void
xlator_release (xlator_t *xl, fd_t *fd, bool directory)
{
    const struct xlator_cbks *cbks = xl->ready ? &xl->api->cbks : NULL;

    if (G_UNLIKELY (xl->slots))
        realm_release (xl, fd);
    if (cbks && directory && cbks->releasedir)
        cbks->releasedir (xl, fd);
    else if (cbks && !directory && cbks->release)
        cbks->release (xl, fd);
    else if (G_UNLIKELY (audit) && audit->context_left && cbks && xl->fd_slot >= 0
             && fd_ctx_get (fd, xl))
        audit->context_left (xl, directory ? "releasedir" : "release", fd_ctx_get (fd, xl));
}

static void
fd_leave (const struct graph *graph, const struct realm *realm, fd_t *fd)
{
    const bool directory = fd->inode && fd->inode->ia_type == IA_IFDIR;

    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (xl->realm == realm)
            xlator_release (xl, fd, directory);
    }
}

static void
graph_release (fd_t *fd, void *data)
{
    fd_leave (data, NULL, fd);
}

static void
graph_release_in_realm (fd_t *fd, void *data)
{
    const struct realm *realm = data;

    fd_leave (realm->graph, realm, fd);
}

/* --- unkept directories ----------------------------------------------------------------------- */

static bool
name_is_of_unkept (const struct graph *graph, const struct realm *realm, inode_t *parent,
                   const char *name)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (xl->realm == realm && xl->api->unkept
            && __atomic_load_n (&xl->ready, __ATOMIC_ACQUIRE)
            && xl->api->unkept (xl, parent, name))
            return true;
    }
    return false;
}

static bool
graph_unkept (inode_t *parent, const char *name, void *data)
{
    return name_is_of_unkept (data, NULL, parent, name);
}

static bool
graph_unkept_in_realm (inode_t *parent, const char *name, void *data)
{
    const struct realm *realm = data;

    return name_is_of_unkept (realm->graph, realm, parent, name);
}

/* Names are asked about if a translator of the realm marks any. */
static void
unkept_ask (const struct graph *graph, const struct realm *realm, struct itable *table,
            unsigned in_itable)
{
    bool any = false;

    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];

        any |= xl->realm == realm && xl->api->unkept;
    }
    if (any)
        itable_set_unkept (table, in_itable, realm ? graph_unkept_in_realm : graph_unkept);
}

/* --- realms ----------------------------------------------------------------------------------- */

/* Returns the realm below a boundary's child, which is made for the first translator in it. */
static struct realm *
realm_begin (struct graph *graph, xlator_t *boundary, xlator_t *child)
{
    struct realm *realm;

    for (guint i = 0; i < graph->realms->len; i++) {
        realm = graph->realms->pdata[i];
        if (realm->boundary == boundary && realm->child == child)
            return realm;
    }
    realm = g_new0 (struct realm, 1);
    *realm = (struct realm){ .graph = graph, .boundary = boundary, .child = child };
    g_ptr_array_add (graph->realms, realm);
    return realm;
}

/* Sets the realm of each translator. graph->xlators lists parents before their children, so the
 * parent's realm is known by then. One parent is enough: realm_check (needs.c) has refused a graph
 * in which two parents would give a translator different realms. */
static void
realms_find (struct graph *graph)
{
    graph->realms = g_ptr_array_new_with_free_func (g_free);
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i], *parent = xl->parents ? xl->parents->xlator : NULL;

        if (parent)
            xl->realm = parent->api->realms ? realm_begin (graph, parent, xl) : parent->realm;
    }
}

/* --- slots ------------------------------------------------------------------------------------ */

/* xlators is ordered from the top down: the parents are done before their children. */
static unsigned
wants_of_parents (const xlator_t *xl)
{
    unsigned wants = 0;

    for (const xlator_list_t *parent = xl->parents; parent; parent = parent->next)
        wants |= parent->xlator->api->wants | parent->xlator->wants_above;
    return wants;
}

/* Assigns the slots of the translators in a realm, and fills in its maker of fds but for the
 * functions. Returns how many contexts an inode needs. in_itable: the graph's number in the
 * table. */
static unsigned
slots_assign (struct graph *graph, const struct realm *realm, unsigned in_itable,
              struct fd_maker *maker)
{
    unsigned inode_keepers = 0;

    maker->keepers = 0;
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];
        const struct xlator_cbks *cbks = &xl->api->cbks;

        if (xl->realm != realm)
            continue;
        xl->wants_above = wants_of_parents (xl);
        xl->fd_maker = maker;
        if (xl->api->wants & WANTS_INODE || cbks->forget)
            xl->inode_slot = INODE_SLOT (in_itable, inode_keepers++);
        if (xl->api->wants & WANTS_FD || cbks->release || cbks->releasedir)
            xl->fd_slot = maker->keepers++;
        if (xl->api->realms)
            realm_slots_make (xl, INODE_SLOT (in_itable, inode_keepers++), maker->keepers++);
    }
    return inode_keepers;
}

/* The boundaries in a realm learn its table. */
static void
boundaries_above (struct graph *graph, const struct realm *realm, struct itable *table)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (xl->realm == realm && xl->slots)
            realm_slots_above (xl, table);
    }
}

static unsigned
graph_slots (struct graph *graph)
{
    const unsigned keepers = slots_assign (graph, NULL, graph->in_itable, &graph->fd_maker);

    graph->fd_maker.release = graph_release;
    graph->fd_maker.data = graph;
    return keepers;
}

static unsigned
realm_slots_in (struct realm *realm)
{
    const unsigned keepers = slots_assign (realm->graph, realm, realm->in_itable, &realm->fd_maker);

    realm->fd_maker.release = graph_release_in_realm;
    realm->fd_maker.data = realm;
    return keepers;
}

void
graph_wire (struct graph *graph, size_t inode_limit)
{
    realms_find (graph);
    graph->itable = itable_new (graph_slots (graph), inode_limit, graph_forget, graph);
    unkept_ask (graph, NULL, graph->itable, 0);
    boundaries_above (graph, NULL, graph->itable);
    for (guint i = 0; i < graph->realms->len; i++) {
        struct realm *realm = graph->realms->pdata[i];

        realm->itable =
            itable_new (realm_slots_in (realm), inode_limit, graph_forget_in_realm, realm);
        unkept_ask (graph, realm, realm->itable, 0);
        boundaries_above (graph, realm, realm->itable);
    }
}

/* An inode above lets go of those below when it is forgotten: so tables end from the top down. */
void
graph_leave_tables (struct graph *graph)
{
    if (graph->itable)
        itable_leave (g_steal_pointer (&graph->itable), graph->in_itable);
    for (guint i = 0; graph->realms && i < graph->realms->len; i++) {
        struct realm *realm = graph->realms->pdata[i];

        if (!realm->itable)
            continue;
        realm_roots_drop (realm->boundary, realm);
        itable_leave (g_steal_pointer (&realm->itable), realm->in_itable);
    }
}

bool
graph_holds_below (const struct graph *graph, fd_t *fd)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];

        if (xl->slots && realm_fd_is_held (xl, fd))
            return true;
    }
    return false;
}

/* --- the next graph --------------------------------------------------------------------------- */

/* The api of a module that was replaced on the disk has another address. */
static xlator_t *
xlator_predecessor (const xlator_t *xl, const struct graph *active)
{
    for (guint i = 0; i < active->xlators->len; i++) {
        xlator_t *before = active->xlators->pdata[i];

        if (strcmp (before->name, xl->name) == 0 && before->api == xl->api)
            return before;
    }
    return NULL;
}

static struct realm *
realm_predecessor (const struct realm *realm, const struct graph *active)
{
    for (guint i = 0; i < active->realms->len; i++) {
        struct realm *before = active->realms->pdata[i];

        if (before->boundary == realm->boundary->predecessor
            && before->child == realm->child->predecessor)
            return before;
    }
    return NULL;
}

/* A realm that is new, or whose table has no room for one more graph, keeps its own table. */
static void
realm_join_table (struct realm *realm, const struct graph *active)
{
    const struct realm *before = realm_predecessor (realm, active);
    const int number = before ? itable_spare (before->itable) : -1;

    if (number < 0)
        return;
    realm->in_itable = (unsigned) number;
    itable_join (before->itable, realm->in_itable, realm_slots_in (realm), graph_forget_in_realm,
                 realm);
    unkept_ask (realm->graph, realm, before->itable, realm->in_itable);
    itable_destroy (realm->itable);
    realm->itable = before->itable;
    boundaries_above (realm->graph, realm, realm->itable);
}

bool
graph_join (struct graph *fresh, struct graph *active)
{
    const int number = itable_spare (active->itable);

    g_assert (!fresh->active && active->active);
    if (number < 0)
        return false;
    for (guint i = 0; i < fresh->xlators->len; i++) {
        xlator_t *xl = fresh->xlators->pdata[i];

        xl->predecessor = xlator_predecessor (xl, active);
    }
    fresh->in_itable = (unsigned) number;
    itable_join (active->itable, fresh->in_itable, graph_slots (fresh), graph_forget, fresh);
    unkept_ask (fresh, NULL, active->itable, fresh->in_itable);
    itable_destroy (fresh->itable);
    fresh->itable = active->itable;
    boundaries_above (fresh, NULL, fresh->itable);
    for (guint i = 0; i < fresh->realms->len; i++)
        realm_join_table (fresh->realms->pdata[i], active);
    roots_unref (fresh->roots);
    fresh->roots = roots_ref (active->roots);
    fresh->joined = true;
    return true;
}
