/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Extended attributes: which of them are kept, and those of an inode. */
#include "md-cache.h"

/* --- which attributes ------------------------------------------------------------------------- */

static void
patterns_free (void *value)
{
    struct mdc_patterns *patterns = value;

    g_ptr_array_unref (patterns->globs);
    g_ptr_array_unref (patterns->specs);
    g_free (patterns);
}

static void
spec_free (void *spec)
{
    g_pattern_spec_free (spec);
}

static bool
patterns_match (const struct mdc_patterns *patterns, const char *name)
{
    for (guint i = 0; i < patterns->specs->len; i++)
        if (g_pattern_spec_match_string (patterns->specs->pdata[i], name))
            return true;
    return false;
}

/* What a server is asked for with each name. */
static const char *const along[MDC_ALONG] = { "system.posix_acl_access",
                                              "system.posix_acl_default", "security.selinux",
                                              "security.capability" };

static void
patterns_add (struct mdc_patterns *patterns, bool wanted, const char *const *globs)
{
    for (; wanted && *globs; globs++)
        g_ptr_array_add (patterns->globs, g_strdup (*globs));
}

struct mdc_patterns *
mdc_patterns_new (const mdc_private_t *options)
{
    struct mdc_patterns *patterns = g_new0 (struct mdc_patterns, 1);
    g_auto (GStrv) list = g_strsplit (options->xattr_list ? options->xattr_list : "", ",", 0);

    patterns->shared = (struct shared){ 1, patterns_free };
    patterns->globs = g_ptr_array_new_with_free_func (g_free);
    patterns_add (patterns, options->capability,
                  (const char *const[]){ "security.capability", NULL });
    patterns_add (patterns, options->ima, (const char *const[]){ "security.ima", NULL });
    patterns_add (patterns, options->selinux, (const char *const[]){ "security.selinux", NULL });
    patterns_add (patterns, options->posix_acl,
                  (const char *const[]){ "system.posix_acl_access", "system.posix_acl_default",
                                         NULL });
    patterns_add (patterns, options->glusterfs_acl,
                  (const char *const[]){ "glusterfs.posix.acl", "glusterfs.posix.default_acl",
                                         NULL });
    patterns_add (patterns, options->swift, (const char *const[]){ "user.swift.metadata", NULL });
    patterns_add (patterns, options->samba,
                  (const char *const[]){ "user.DOSATTRIB", "user.DosStream.*",
                                         "user.org.netatalk.Metadata", "security.NTACL", NULL });
    for (char **at = list; *at; at++)
        if (*g_strstrip (*at))
            patterns_add (patterns, true, (const char *const[]){ *at, NULL });
    patterns->specs = g_ptr_array_new_with_free_func (spec_free);
    for (guint i = 0; i < patterns->globs->len; i++)
        g_ptr_array_add (patterns->specs, g_pattern_spec_new (patterns->globs->pdata[i]));
    for (unsigned i = 0; i < MDC_ALONG; i++)
        patterns->along[i] = patterns_match (patterns, along[i]);
    return patterns;
}

/* An entry is a name or a wildcard. One without a namespace and without a wildcard matches nothing,
 * so it is refused. */
int
mdc_patterns_check (const char *text, char **ret_allowed)
{
    g_auto (GStrv) list = g_strsplit (text, ",", 0);

    for (char **at = list; *at; at++) {
        const char *glob = g_strstrip (*at);
        if (!*glob || strchr (glob, '*') || strchr (glob, '.'))
            continue;
        *ret_allowed = g_strdup_printf ("must be names of extended attributes with their "
                                        "namespace, such as user.*,security.selinux; '%s' has none",
                                        glob);
        return -EINVAL;
    }
    return 0;
}

/* Storage shows trusted attributes to root alone, so they are never kept, whatever a wildcard
 * says. */
static bool
xattrs_is_kept (xlator_t *this, const char *name)
{
    struct mdc_patterns *patterns;
    bool matches;

    if (g_str_has_prefix (name, "trusted."))
        return false;
    patterns = shared_get (&mdc_priv (this)->patterns);
    matches = patterns_match (patterns, name);
    shared_unref (&patterns->shared);
    return matches;
}

/* --- attributes of an inode ------------------------------------------------------------------- */

static void
xattr_free (struct mdc_inode *kept, struct mdc_xattr **at)
{
    struct mdc_xattr *gone = *at;

    *at = gone->next;
    kept->n_values--;
    kept->values_size -= gone->size;
    dict_unref (gone->dict);
    g_free (gone);
}

void
mdc_xattrs_drop_locked (struct mdc_inode *kept)
{
    while (kept->values)
        xattr_free (kept, &kept->values);
    g_clear_pointer (&kept->listed, dict_unref);
}

/* A write removes capabilities and signatures, or makes a new signature; it never makes a
 * capability. All other attributes stay. */
static bool
goes_with_writes (const char *name, bool there)
{
    return g_str_has_prefix (name, "security.")
        && (there || strcmp (name, "security.capability") != 0);
}

static bool
xattrs_holds_locked (xlator_t *this, const struct mdc_inode *kept, const char *name, bool there,
                     uint64_t asked)
{
    return change_view_holds (&kept->xattrs, asked) && mdc_none_changed_since (this, asked)
        && (!goes_with_writes (name, there) || change_view_holds (&kept->attributes, asked));
}

static struct mdc_xattr **
xattrs_find_locked (struct mdc_inode *kept, const char *name)
{
    struct mdc_xattr **at = &kept->values;

    while (*at && strcmp ((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

/* Namespaces in which an attribute that is not listed does not exist. The system namespace has
 * names that are made up on request. Where storage does not support a namespace at all, it says
 * so. */
static const char *const namespaces[] = { "user.", "security." };

static unsigned
namespace_of (const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (namespaces); i++)
        if (g_str_has_prefix (name, namespaces[i]))
            return 1u << i;
    return 0;
}

/* Returns true if the attribute is not in the list of the inode's attributes. */
static bool
xattrs_is_absent_locked (xlator_t *this, const struct mdc_inode *kept, const char *name,
                         int64_t now)
{
    return kept->listed && MDC_OPTION (this, namespaces) & namespace_of (name)
        && mdc_is_young (this, &kept->listed_at, now) && !dict_has (kept->listed, name)
        && xattrs_holds_locked (this, kept, name, false, kept->listed_at.asked)
        && xattrs_is_kept (this, name);
}

enum mdc_xattr_known
mdc_xattr_find (xlator_t *this, inode_t *inode, const char *name, dict_t **ret_dict)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    enum mdc_xattr_known known = MDC_XATTR_UNKNOWN;
    const int64_t now = clock_roughly ();
    const struct mdc_xattr *xattr;

    if (!kept)
        return known;
    pthread_mutex_lock (&kept->lock);
    xattr = *xattrs_find_locked (kept, name);
    if (xattr && mdc_is_young (this, &xattr->at, now)
        && xattrs_holds_locked (this, kept, name, xattr->dict, xattr->at.asked)) {
        known = xattr->dict ? MDC_XATTR_THERE : MDC_XATTR_ABSENT;
        *ret_dict = dict_ref (xattr->dict);
    } else if (xattrs_is_absent_locked (this, kept, name, now)) {
        known = MDC_XATTR_ABSENT;
    }
    pthread_mutex_unlock (&kept->lock);
    return known;
}

static size_t
size_of (const char *name, const dict_t *dict)
{
    size_t size = 0;

    if (dict)
        dict_get (dict, name, &size);
    return sizeof (struct mdc_xattr) + 2 * strlen (name) + size + (dict ? 64 : 0);
}

static void
xattrs_keep_locked (struct mdc_inode *kept, const char *name, dict_t *dict, struct mdc_asked at)
{
    struct mdc_xattr **old = xattrs_find_locked (kept, name), *xattr;
    const size_t size = size_of (name, dict), length = strlen (name) + 1;

    if (*old)
        xattr_free (kept, old);
    if (size > MDC_XATTRS_SIZE)
        return;
    while (kept->values
           && (kept->n_values >= MDC_XATTRS_MAX || kept->values_size + size > MDC_XATTRS_SIZE))
        xattr_free (kept, &kept->values);
    xattr = g_malloc (sizeof *xattr + length);
    *xattr = (struct mdc_xattr){ kept->values, at, dict_ref (dict), size };
    memcpy (xattr->name, name, length);
    kept->values = xattr;
    kept->values_size += size;
    kept->n_values++;
}

void
mdc_xattr_keep (xlator_t *this, inode_t *inode, const char *name, dict_t *dict, struct mdc_asked at)
{
    mdc_private_t *priv = mdc_priv (this);
    struct mdc_inode *kept;

    if ((MDC_OPTION (this, namespaces) & namespace_of (name)) == 0)
        __atomic_or_fetch (&priv->namespaces, namespace_of (name), __ATOMIC_RELAXED);
    if (!xattrs_is_kept (this, name) || (dict && !dict_has (dict, name)))
        return;
    kept = mdc_inode_make (this, inode);
    pthread_mutex_lock (&kept->lock);
    if (xattrs_holds_locked (this, kept, name, dict, at.asked))
        xattrs_keep_locked (kept, name, dict, at);
    pthread_mutex_unlock (&kept->lock);
}

static const char capability[] = "security.capability";

int64_t
mdc_bare_since_locked (xlator_t *this, struct mdc_inode *kept)
{
    const struct mdc_xattr *xattr = *xattrs_find_locked (kept, capability);
    const bool has_none = xattr && !xattr->dict
                       && mdc_is_young (this, &xattr->at, clock_roughly ())
                       && xattrs_holds_locked (this, kept, capability, false, xattr->at.asked);

    return has_none ? xattr->at.time : 0;
}

bool
mdc_none_changed_since (xlator_t *this, uint64_t asked)
{
    const mdc_private_t *priv = mdc_priv (this);

    return change_view_holds (&priv->xattrs, asked) && change_view_holds (&priv->all, asked);
}

/* Storage that does not support capabilities says so when they are first asked for. */
void
mdc_keep_no_capability (xlator_t *this, inode_t *inode, struct mdc_asked at)
{
    if (MDC_OPTION (this, namespaces) & namespace_of (capability))
        mdc_xattr_keep (this, inode, capability, NULL, at);
}

static size_t
list_size (const dict_t *dict)
{
    const size_t n = dict_count (dict);
    size_t all = n * 32, size;
    const char *name;
    const void *value;

    for (size_t i = 0; i < n && all <= MDC_XATTRS_SIZE; i++) {
        dict_nth (dict, i, &name, &value, &size);
        all += strlen (name);
    }
    return all;
}

void
mdc_xattr_keep_list (xlator_t *this, inode_t *inode, dict_t *dict, struct mdc_asked at)
{
    struct mdc_inode *kept;

    if (list_size (dict) > MDC_XATTRS_SIZE)
        return;
    kept = mdc_inode_make (this, inode);
    pthread_mutex_lock (&kept->lock);
    if (xattrs_holds_locked (this, kept, "", false, at.asked)) {
        dict_unref (kept->listed);
        kept->listed = dict_ref (dict);
        kept->listed_at = at;
    }
    pthread_mutex_unlock (&kept->lock);
}

/* --- along with names ------------------------------------------------------------------------- */

dict_t *
mdc_xattrs_along (void)
{
    dict_t *names = dict_new ();

    for (unsigned i = 0; i < MDC_ALONG; i++)
        dict_set_u64 (names, along[i], 0);
    return names;
}

dict_t *
mdc_xattrs_ask (xlator_t *this, dict_t *xdata)
{
    const mdc_private_t *priv = mdc_priv (this);
    dict_t *both;

    if (!priv->along || !xdata)
        return dict_ref (priv->along ? priv->along : xdata);
    both = dict_copy (xdata);
    for (unsigned i = 0; i < MDC_ALONG; i++)
        if (!dict_has (both, along[i]))
            dict_set_u64 (both, along[i], 0);
    return both;
}

/* An attribute that was asked for, and isn't in the answer, does not exist. Without a good copy of
 * them nothing is known. */
static void
xattrs_take_locked (xlator_t *this, struct mdc_inode *kept, const char *name, const dict_t *xdata,
                    struct mdc_asked at)
{
    size_t size;
    const void *value = dict_get (xdata, name, &size);
    g_autoptr (dict_t) dict = value ? dict_new () : NULL;

    if (dict)
        dict_set (dict, name, value, size);
    if (xattrs_holds_locked (this, kept, name, dict, at.asked))
        xattrs_keep_locked (kept, name, dict, at);
}

void
mdc_xattrs_take (xlator_t *this, inode_t *inode, const dict_t *xdata, struct mdc_asked at)
{
    struct mdc_patterns *patterns;
    struct mdc_inode *kept;

    if (!mdc_priv (this)->along || dict_has (xdata, XDATA_NO_GOOD_METADATA))
        return;
    patterns = shared_get (&mdc_priv (this)->patterns);
    kept = mdc_inode_make (this, inode);
    pthread_mutex_lock (&kept->lock);
    for (unsigned i = 0; i < MDC_ALONG; i++)
        if (patterns->along[i])
            xattrs_take_locked (this, kept, along[i], xdata, at);
    pthread_mutex_unlock (&kept->lock);
    shared_unref (&patterns->shared);
}
