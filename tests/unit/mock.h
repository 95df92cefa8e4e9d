/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stack of translators without a volfile, for tests of the core alone. */
#ifndef WINDLASS_TESTS_MOCK_H
#define WINDLASS_TESTS_MOCK_H

#include "core/edge/sync.h"
#include "xlator.h"

/* Translators that several tests of tests/unit use (mock.c), with the functions in them. Each
 * implements stat: leaf answers it, after mock_leaf_nap microseconds, with a file of 42 bytes, or
 * with the error mock_leaf_errno if that is not 0; pass winds it, after mock_pass_nap microseconds;
 * tail hands it on. leaf also refuses access with EACCES. */
extern const struct xlator_api mock_leaf_api, mock_pass_api, mock_tail_api;
extern gulong mock_leaf_nap, mock_pass_nap;
extern int mock_leaf_errno;
stat_fop mock_leaf_stat, mock_pass_stat;
stat_cbk mock_pass_stat_cbk;

/* Puts xl above child (NULL: no child) and creates its routes. */
static inline xlator_t *
mock_xlator (xlator_t *xl, const char *name, const struct xlator_api *api, xlator_t *child)
{
    *xl = xlator_init (name, api, NULL, NULL);
    xl->type = api->type ? api->type : "test/mock";
    xl->ready = true;
    if (child) {
        xl->children = g_new0 (xlator_list_t, 1);
        xl->children->xlator = child;
        xlator_list_t *parent = g_new0 (xlator_list_t, 1);
        parent->xlator = xl;
        parent->next = child->parents;
        child->parents = parent;
    }
    xlator_route (xl);
    return xl;
}

static inline void
mock_free (xlator_t *xl)
{
    xlator_list_t *next;

    for (xlator_list_t *l = xl->children; l; l = next) {
        next = l->next;
        g_free (l);
    }
    for (xlator_list_t *l = xl->parents; l; l = next) {
        next = l->next;
        g_free (l);
    }
}

#endif
