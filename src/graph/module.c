/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Modules of translators: search and checks. Folders are searched in this order: those of the
 * command line, of WINDLASS_XLATOR_PATH, the installed one. In each, the module of the type c/n is
 * c/n.so. The first one found counts, valid or not, so that a module that hides another by mistake
 * is noticed.
 */
#include "graph/internal.h"
#include "core/base/process.h"
#include "folders.h"

#include <errno.h>
#include <gmodule.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- types ---------------------------------------------------------------------------------- */

/* Names that GlusterFS installs as links to another module. */
static const char *const aliases[][2] = {
    { "meta", "meta/meta" }, /* the only one without a category */
    { "cluster/replicate", "cluster/afr" }, { "cluster/dht", "cluster/distribute" },
    { "cluster/disperse", "cluster/ec" }, { "features/access-control", "system/posix-acl" },
    { "features/posix-locks", "features/locks" },
    { "performance/stat-prefetch", "performance/md-cache" },
};

const char *
type_canonical (const char *type)
{
    for (size_t i = 0; i < G_N_ELEMENTS (aliases); i++)
        if (strcmp (aliases[i][0], type) == 0)
            return aliases[i][1];
    return type;
}

static bool
type_part_is_valid (const char *part, size_t len)
{
    if (len == 0 || len > 64 || !g_ascii_isalnum (*part))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!g_ascii_isalnum (part[i]) && !strchr ("-_.+", part[i]))
            return false;
    return !g_strstr_len (part, len, "..");
}

bool
type_is_valid (const char *type)
{
    const char *slash = strchr (type, '/');

    if (!slash)
        return strcmp (type_canonical (type), type) != 0;
    return type_part_is_valid (type, slash - type)
           && type_part_is_valid (slash + 1, strlen (slash + 1));
}

static GPtrArray *
module_dirs (const char *const *dirs)
{
    GPtrArray *all = g_ptr_array_new_with_free_func (g_free);
    const char *path = g_getenv ("WINDLASS_XLATOR_PATH");
    g_auto (GStrv) parts = g_strsplit (path ? path : "", ":", -1);

    for (size_t i = 0; dirs && dirs[i]; i++)
        if (*dirs[i])
            g_ptr_array_add (all, g_strdup (dirs[i]));
    for (size_t i = 0; parts[i]; i++)
        if (*parts[i])
            g_ptr_array_add (all, g_strdup (parts[i]));
    g_ptr_array_add (all, g_strdup (XLATORDIR));
    return all;
}

int
module_check_dirs (const char *const *dirs, char **ret_error)
{
    for (; dirs && *dirs; dirs++)
        if (**dirs && !g_file_test (*dirs, G_FILE_TEST_IS_DIR)) {
            *ret_error = g_strdup_printf (
                "option 'xlator-dir' must be a directory, got '%s', which %s", *dirs,
                g_file_test (*dirs, G_FILE_TEST_EXISTS) ? "is not a directory" : "is missing");
            return -ENOENT;
        }
    return 0;
}

/* Returns the path of a type's module in a folder, or NULL. */
static char *
module_path_in (const char *dir, const char *type)
{
    g_autofree char *path = g_strdup_printf ("%s/%s.so", dir, type);

    return g_file_test (path, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer (&path) : NULL;
}

/* Returns the path of the module of a valid type, or NULL. */
static char *
module_path (const GPtrArray *dirs, const char *type)
{
    for (guint i = 0; i < dirs->len; i++) {
        char *path = module_path_in (dirs->pdata[i], type);

        if (path)
            return path;
    }
    return NULL;
}

/* --- list of types -------------------------------------------------------------------------- */

static void
types_of_entry (GHashTable *types, const char *dir, const char *category, const char *entry)
{
    g_autofree char *type = NULL, *path = NULL;

    if (!g_str_has_suffix (entry, ".so"))
        return;
    type = g_strdup_printf ("%s/%.*s", category, (int) strlen (entry) - 3, entry);
    if (!type_is_valid (type))
        return;
    path = module_path_in (dir, type);
    if (path)
        g_hash_table_add (types, g_steal_pointer (&type));
}

static void
types_of_category (GHashTable *types, const char *dir, const char *category)
{
    g_autofree char *path = g_build_filename (dir, category, NULL);
    g_autoptr (GDir) entries = g_dir_open (path, 0, NULL);
    const char *entry;

    while (entries && (entry = g_dir_read_name (entries)))
        types_of_entry (types, dir, category, entry);
}

static gint
types_compare (gconstpointer a, gconstpointer b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *
module_types (const char *const *dirs)
{
    g_autoptr (GPtrArray) all = module_dirs (dirs);
    g_autoptr (GHashTable) types = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    GPtrArray *sorted = g_ptr_array_new_with_free_func (g_free);
    GHashTableIter iter;
    gpointer type;

    for (guint i = 0; i < all->len; i++) {
        g_autoptr (GDir) categories = g_dir_open (all->pdata[i], 0, NULL);
        const char *category;

        while (categories && (category = g_dir_read_name (categories)))
            types_of_category (types, all->pdata[i], category);
    }
    g_hash_table_iter_init (&iter, types);
    while (g_hash_table_iter_next (&iter, &type, NULL))
        g_ptr_array_add (sorted, g_strdup (type));
    g_ptr_array_sort (sorted, types_compare);
    return sorted;
}

/* --- checks of a module --------------------------------------------------------------------- */

/* Returns whether a row's field has the size of its type's values. */
static bool
field_fits (const struct xlator_option *row)
{
    static const size_t sizes[] = {
        [OPTION_BOOL] = sizeof (bool),      [OPTION_INT] = sizeof (int64_t),
        [OPTION_DOUBLE] = sizeof (double),  [OPTION_SIZE] = sizeof (uint64_t),
        [OPTION_PERCENT] = sizeof (double), [OPTION_PERCENT_OR_SIZE] = sizeof (struct option_share),
        [OPTION_TIME] = sizeof (int64_t),   [OPTION_PATH] = sizeof (char *),
        [OPTION_STRING] = sizeof (char *),  [OPTION_ENUM] = sizeof (int),
        [OPTION_XLATOR] = sizeof (char *),
    };

    return row->size == 0 || row->size == sizes[row->type]
           || (row->type == OPTION_INT && row->size == sizeof (int));
}

/* Returns NULL, or the problem with a row. */
static char *
row_wrong (const struct xlator_api *api, const struct xlator_option *row)
{
    g_autofree char *allowed = NULL;

    if (row->type > OPTION_XLATOR || !field_fits (row))
        return g_strdup_printf ("option '%s' has a type that doesn't fit its field", row->key[0]);
    if (row->size > api->priv_size || row->offset > api->priv_size - row->size)
        return g_strdup_printf ("option '%s' has its field outside of the private struct",
                                row->key[0]);
    if (row->value && option_parse (row, row->value, NULL, &allowed) < 0)
        return g_strdup_printf ("option '%s' %s, but its default is '%s'", row->key[0], allowed,
                                row->value);
    return NULL;
}

/* Returns whether type names a module whose own type is theirs. */
static bool
type_fits (const char *type, const char *theirs)
{
    return strcmp (type, theirs) == 0 || strcmp (type_canonical (type), theirs) == 0;
}

/* Returns what to do about a module that doesn't fit this program. Translators that are loaded stay
 * as they are, so a daemon meets a module of a newer version only if a reload asks for a type that
 * it had not loaded before. */
static const char *
module_advice (const char *otherwise)
{
    return process_was_upgraded ()
        ? ": windlass was upgraded since this mount began; unmount it and mount it again to run "
          "the new version"
        : otherwise;
}

/* Returns NULL, or the problem with a module's object. */
static char *
api_wrong (const struct xlator_api *api, const char *type)
{
    char *wrong = NULL;

    if (api->abi != XLATOR_ABI)
        return g_strdup_printf ("was built for ABI %d, must be %d%s", api->abi, XLATOR_ABI,
                                module_advice (": build it against this version"));
    if (!api->type || !api->about)
        return g_strdup ("has an xlator_api without type or about");
    if (!type_fits (type, api->type))
        return g_strdup_printf ("holds type '%s', must be '%s'", api->type, type);
    if (api->children.min < 0 || (api->children.max >= 0 && api->children.max < api->children.min))
        return g_strdup_printf ("wants %d to %d children", api->children.min, api->children.max);
    for (const struct xlator_option *row = api->options; row && row->key[0] && !wrong; row++)
        wrong = row_wrong (api, row);
    return wrong;
}

/* Returns whether a part of the file is missing. The dynamic loader would map the file all the
 * same, and the first access would kill the process. A file that isn't ELF is left to the loader to
 * report. */
static bool
module_is_cut (const char *path)
{
    g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, NULL);
    const size_t length = file ? g_mapped_file_get_length (file) : 0;
    const char *start = length ? g_mapped_file_get_contents (file) : NULL;
    ElfW (Ehdr) head;
    ElfW (Phdr) part;

    if (length < sizeof head || memcmp (start, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy (&head, start, sizeof head);
    if (head.e_phoff > length || head.e_phnum > (length - head.e_phoff) / sizeof part)
        return true;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        memcpy (&part, start + head.e_phoff + i * sizeof part, sizeof part);
        if (part.p_type == PT_LOAD
            && (part.p_offset > length || part.p_filesz > length - part.p_offset))
            return true;
    }
    return false;
}

/* The loader's reason for the last failure: it begins with the path of the module, or of a library
 * that the module needs. */
static const char *
module_loader_says (const char *path)
{
    const char *says = g_module_error ();

    if (g_str_has_prefix (says, path) && g_str_has_prefix (says + strlen (path), ": "))
        says += strlen (path) + strlen (": ");
    return says;
}

/* Loads the module at path, by the name spelled. NULL on failure, with the reason in
 * *ret_error. */
static const struct xlator_api *
module_open_as (const char *path, const char *spelled, const char *type, char **ret_error)
{
    g_autofree char *wrong = NULL;
    gpointer symbol = NULL;
    GModule *module;

    if (module_is_cut (path)) {
        *ret_error = g_strdup_printf ("type '%s': '%s' is not a whole module: its end is missing",
                                      type, path);
        return NULL;
    }
    module = g_module_open (spelled, G_MODULE_BIND_LOCAL);
    if (!module) {
        *ret_error = g_strdup_printf ("type '%s': '%s' is not a module that can be loaded: %s%s",
                                      type, path, module_loader_says (spelled),
                                      module_advice (""));
        return NULL;
    }
    if (!g_module_symbol (module, "xlator_api", &symbol) || !symbol)
        wrong = g_strdup ("has no symbol 'xlator_api', which each translator exports");
    else
        wrong = api_wrong (symbol, type);
    if (wrong) {
        *ret_error = g_strdup_printf ("type '%s': module '%s' %s", type, path, wrong);
        g_module_close (module);
        return NULL;
    }
    g_module_make_resident (module); /* its functions may be on a thread's stack until the process
                                      * ends */
    if (xlator_module_loaded)
        xlator_module_loaded ();
    return symbol;
}

/* --- modules that were replaced while they are in use ----------------------------------------- */

/* A file that was loaded. Kept until the process ends, as the module is. */
struct loaded_module {
    char *spelled; /* its path, perhaps with several slashes before the name */
    dev_t device;
    ino_t inode;
    const struct xlator_api *api;
};

/* Path to struct loaded_module, the last one loaded from there. Graphs are loaded on the main
 * thread. */
static GHashTable *loaded_modules;

/* An upgrade puts another file in the place of a module. The dynamic loader knows a module by its
 * name, and would hand out the loaded one; with a slash more the name is another, and if the file
 * is the same the loader notices that. Returns the name; g_free it. */
static char *
module_spelling (const char *path, const struct loaded_module *before, const struct stat *st)
{
    const char *slash;
    const bool replaced = before && (before->device != st->st_dev || before->inode != st->st_ino);

    if (!before)
        return g_strdup (path);
    slash = strrchr (before->spelled, '/');
    return g_strdup_printf ("%.*s%s%s", (int) (slash - before->spelled), before->spelled,
                            replaced ? "/" : "", slash);
}

static void
module_remember (const char *path, const char *spelled, const struct stat *st,
                 const struct xlator_api *api)
{
    struct loaded_module *loaded;

    if (!loaded_modules)
        loaded_modules = g_hash_table_new (g_str_hash, g_str_equal);
    loaded = g_hash_table_lookup (loaded_modules, path);
    if (!loaded) {
        loaded = g_new0 (struct loaded_module, 1);
        g_hash_table_insert (loaded_modules, g_strdup (path), loaded);
    }
    g_free (loaded->spelled);
    *loaded = (struct loaded_module){ g_strdup (spelled), st->st_dev, st->st_ino, api };
}

/* Loads the module at path: its new file if the one that was loaded has been replaced. Returns the
 * module that was loaded if the new file can't be used, as when it is for another ABI, or if the
 * program was replaced as well. */
static const struct xlator_api *
module_open (const char *path, const char *type, char **ret_error)
{
    const struct loaded_module *before =
        loaded_modules ? g_hash_table_lookup (loaded_modules, path) : NULL;
    g_autofree char *spelled = NULL, *error = NULL;
    const struct xlator_api *api;
    struct stat st;

    if (before && process_was_upgraded ())
        return before->api;
    if (stat (path, &st) < 0) {
        *ret_error = g_strdup_printf ("type '%s': '%s': %s", type, path, g_strerror (errno));
        return NULL;
    }
    spelled = module_spelling (path, before, &st);
    api = module_open_as (path, spelled, type, &error);
    if (api) {
        if (!before || strcmp (spelled, before->spelled) != 0)
            module_remember (path, spelled, &st, api);
        return api;
    }
    if (before) {
        gf_log (NULL, GF_LOG_WARNING,
                "%s; going on with the module that was loaded before it was replaced", error);
        return before->api;
    }
    *ret_error = g_steal_pointer (&error);
    return NULL;
}

/* --- loading -------------------------------------------------------------------------------- */

/* Returns the type of types whose part after the category is name, or NULL. */
static const char *
module_named (const GPtrArray *types, const char *name)
{
    for (guint i = 0; name && i < types->len; i++)
        if (strcmp (strchr (types->pdata[i], '/') + 1, name) == 0)
            return types->pdata[i];
    return NULL;
}

char *
module_suggest (const char *type, const char *const *dirs)
{
    g_autoptr (GPtrArray) types = module_types (dirs), names = g_ptr_array_new ();
    const char *slash = strrchr (type, '/'), *name = slash ? slash + 1 : type;
    const char *found = module_named (types, name);

    for (guint i = 0; i < types->len; i++)
        g_ptr_array_add (names, strchr (types->pdata[i], '/') + 1);
    if (!found)
        found = slash ? suggest_near (type, types)
                      : module_named (types, suggest_near (name, names));
    return suggest_text (found);
}

/* Returns whether GlusterFS has, or had until 10.3, a translator of this type. */
static bool
type_is_of_glusterfs (const char *type)
{
    static const char *const theirs[] = {
        "cluster/ec", "cluster/disperse", "cluster/nufa", "cluster/stripe", "cluster/switch",
        "cluster/tier", "cluster/unify", "debug/sink", "encryption/crypt", "experimental/fdl",
        "experimental/jbr-client", "experimental/jbr-server", "features/arbiter",
        "features/barrier", "features/bit-rot", "features/bitrot-stub", "features/cdc",
        "features/changelog", "features/changetimerecorder", "features/cloudsync",
        "features/compress", "features/filter", "features/ganesha", "features/gfid-access",
        "features/glupy", "features/index", "features/leases", "features/locks",
        "features/mac-compat", "features/marker", "features/namespace", "features/path-converter",
        "features/posix-locks", "features/prot_client", "features/prot_server",
        "features/qemu-block", "features/quiesce", "features/quota", "features/quotad",
        "features/sdfs", "features/selinux", "features/shard", "features/simple-quota",
        "features/snapview-client", "features/snapview-server", "features/thin-arbiter",
        "features/upcall", "features/worm", "mgmt/glusterd", "mount/api",
        "nfs/server", "performance/decompounder", "performance/symlink-cache",
        "playground/template", "protocol/server", "storage/bd",
    };

    for (size_t i = 0; i < G_N_ELEMENTS (theirs); i++)
        if (strcmp (theirs[i], type) == 0)
            return true;
    return false;
}

static char *
module_missing (const char *type, const char *const *dirs, GPtrArray *all)
{
    g_autofree char *suggestion = module_suggest (type, dirs), *where = NULL;

    if (!type_is_valid (type))
        return g_strdup_printf ("type '%s' must be CATEGORY/NAME, as 'windlass help' lists them%s",
                                type, suggestion);
    g_ptr_array_add (all, NULL);
    where = g_strjoinv (", ", (char **) all->pdata);
    if (type_is_of_glusterfs (type))
        return g_strdup_printf ("type '%s' is one of GlusterFS that Windlass does not have, looked "
                                "in %s; 'windlass help' lists the types there are",
                                type, where);
    return g_strdup_printf ("type '%s' is not there, looked in %s (--xlator-dir adds a folder)%s",
                            type, where,
                            *suggestion ? suggestion
                                        : "; 'windlass help' lists the types there are");
}

const struct xlator_api *
module_load (const char *type, const char *const *dirs, char **ret_error)
{
    g_autoptr (GPtrArray) all = module_dirs (dirs);
    g_autofree char *path = NULL;

    if (type_is_valid (type)) {
        path = strchr (type, '/') ? module_path (all, type) : NULL;
        if (!path)
            path = module_path (all, type_canonical (type));
    }
    if (!path) {
        *ret_error = module_missing (type, dirs, all);
        return NULL;
    }
    return module_open (path, type, ret_error);
}
