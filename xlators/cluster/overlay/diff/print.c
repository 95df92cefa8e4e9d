/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "print.h"

#include "line-diff.h"

#include <errno.h>
#include <string.h>

#define PROGRAMS_MAX 5 /* names of programs in a line */

static const char *
type_text (ia_type_t type)
{
    switch (type) {
    case IA_IFREG: return "file";
    case IA_IFDIR: return "directory";
    case IA_IFLNK: return "symbolic link";
    case IA_IFBLK: return "block device";
    case IA_IFCHR: return "character device";
    case IA_IFIFO: return "fifo";
    case IA_IFSOCK: return "socket";
    default: return "object";
    }
}

static const char *
kind_text (char kind)
{
    switch (kind) {
    case 'A': return "added";
    case 'D': return "removed";
    case 'R': return "renamed";
    default: return "changed";
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Begins the text of a further difference. */
static GString *
append_also (GString *differences)
{
    return g_string_append (differences, differences->len > 0 ? ", " : "");
}

static void
diff_append_differences (GString *differences, const struct diff_change *change)
{
    const struct iatt *before = change->before ? &change->before->buf : NULL;
    const struct iatt *after = change->after ? &change->after->buf : NULL;

    if (change->kind == 'T')
        g_string_append_printf (differences, "was a %s, is a %s", type_text (before->ia_type),
                                type_text (after->ia_type));
    if (change->what & DIFF_CONTENT)
        g_string_append (append_also (differences), "content");
    if (change->what & DIFF_MODE)
        g_string_append_printf (append_also (differences), "mode %04o -> %04o", before->ia_prot,
                                after->ia_prot);
    if (change->what & DIFF_OWNER)
        g_string_append_printf (append_also (differences), "owner %u:%u -> %u:%u", before->ia_uid,
                                before->ia_gid, after->ia_uid, after->ia_gid);
    if (change->what & DIFF_XATTRS)
        g_string_append (append_also (differences), "extended attributes");
    if (change->what & DIFF_TIMES)
        g_string_append (append_also (differences), "time");
}

/* A directory has a slash at its end. */
static void
diff_append_path (GString *out, const char *path, const struct diff_object *object)
{
    line_append (out, path, 4 * PATH_MAX);
    if (object->buf.ia_type == IA_IFDIR)
        g_string_append_c (out, '/');
}

static void
diff_append_programs (GString *out, const char *const *programs)
{
    const char *before = " by ";
    unsigned n = 0;

    for (; programs && *programs && n < PROGRAMS_MAX; programs++, n++, before = ", ")
        line_append (g_string_append (out, before), *programs, NAME_MAX);
    if (programs && *programs)
        g_string_append_printf (out, " and %u more", g_strv_length ((char **) programs));
}

static void
diff_print_line (const struct diff_change *change, GString *out)
{
    g_autoptr (GString) differences = g_string_new (NULL);

    diff_append_differences (differences, change);
    g_string_append_printf (out, "%-8s ", kind_text (change->kind));
    if (change->from) {
        diff_append_path (out, change->from, change->before);
        g_string_append (out, " -> ");
    }
    diff_append_path (out, change->path, change->after ? change->after : change->before);
    if (differences->len > 0)
        g_string_append_printf (out, " (%s)", differences->str);
    diff_append_programs (out, change->programs);
    g_string_append_c (out, '\n');
}

/* git escapes names in another way; here bytes that a terminal may not show are \xNN. */
static void
print_name_status (const struct diff_change *change, GString *out)
{
    g_string_append_printf (out, "%c\t", change->kind);
    if (change->from)
        line_append (out, change->from + 1, 4 * PATH_MAX);
    if (change->from)
        g_string_append_c (out, '\t');
    line_append (out, change->path + 1, 4 * PATH_MAX);
    g_string_append_c (out, '\n');
}

/* --- patches ---------------------------------------------------------------------------------- */

static bool
object_is_file (const struct diff_object *object)
{
    return object && object->buf.ia_type == IA_IFREG;
}

/* Reads the text of a side; one that is missing, or no file, is empty. Returns 1 if it is text; 0
 * if not; or a negative errno. */
static int
side_read (const struct diff_object *object, char **ret_text, gsize *ret_size)
{
    int r;

    *ret_text = NULL;
    *ret_size = 0;
    if (!object_is_file (object) || object->buf.ia_size == 0)
        return 1;
    r = diff_read_all (object, DIFF_TEXT_MAX, ret_text, ret_size);
    if (r == -EFBIG)
        return 0;
    return r < 0 ? r : line_diff_is_text (*ret_text ? *ret_text : "", *ret_size);
}

static void
append_patch_name (GString *out, const char *mark, const char *path,
                   const struct diff_object *object)
{
    g_string_append (out, mark);
    if (object_is_file (object))
        line_append (g_string_append_c (out, *mark == '-' ? 'a' : 'b'), path, 4 * PATH_MAX);
    else
        g_string_append (out, "/dev/null");
    g_string_append_c (out, '\n');
}

static int
print_patch (const struct diff_change *change, GString *out)
{
    g_autofree char *old = NULL, *new = NULL;
    g_autoptr (GString) hunks = g_string_new (NULL);
    gsize old_size, new_size;
    int old_is_text, new_is_text = 1;

    diff_print_line (change, g_string_append (out, "# "));
    if (!object_is_file (change->before) && !object_is_file (change->after))
        return 0;
    old_is_text = side_read (change->before, &old, &old_size);
    if (old_is_text >= 0)
        new_is_text = side_read (change->after, &new, &new_size);
    if (old_is_text <= 0 || new_is_text <= 0) {
        g_string_append (out, "# its content is not text, or is too large\n");
        return MIN (MIN (old_is_text, new_is_text), 0);
    }
    line_diff_append (hunks, old ? old : "", old_size, new ? new : "", new_size);
    if (hunks->len == 0)
        return 0;
    append_patch_name (out, "--- ", change->from ? change->from : change->path, change->before);
    append_patch_name (out, "+++ ", change->path, change->after);
    g_string_append_len (out, hunks->str, (gssize) hunks->len);
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void
json_side (struct json *json, const char *key, const struct diff_object *object)
{
    g_autofree char *mode = NULL;

    if (!object) {
        json_null (json, key);
        return;
    }
    mode = g_strdup_printf ("%04o", object->buf.ia_prot);
    json_open (json, key, '{');
    json_string (json, "type", type_text (object->buf.ia_type));
    json_string (json, "mode", mode);
    json_number (json, "uid", object->buf.ia_uid);
    json_number (json, "gid", object->buf.ia_gid);
    if (object->buf.ia_type == IA_IFREG)
        json_number (json, "size", (double) object->buf.ia_size);
    json_close (json, '}');
}

/* A name that is no UTF-8 is exact with its bytes as %XX alone. */
static void
json_path (struct json *json, const char *key, const char *path)
{
    g_autofree char *encoded = g_uri_escape_string (path, "/", FALSE);
    g_autofree char *encoded_key = g_strconcat (key, "_encoded", NULL);

    json_string (json, key, path);
    json_string (json, encoded_key, encoded);
}

static void
print_json (const struct diff_change *change, GString *out)
{
    struct json json = { .out = out };

    json_open (&json, NULL, '{');
    json_string (&json, "change", kind_text (change->kind));
    json_path (&json, "path", change->path);
    if (change->from)
        json_path (&json, "from", change->from);
    json_bool (&json, "content", change->what & DIFF_CONTENT);
    json_bool (&json, "xattrs", change->what & DIFF_XATTRS);
    json_bool (&json, "times", change->what & DIFF_TIMES);
    json_side (&json, "before", change->before);
    json_side (&json, "after", change->after);
    if (change->programs)
        json_strings (&json, "programs", change->programs);
    json_close (&json, '}');
}

int
diff_print (const struct diff_change *change, enum diff_style style, GString *out)
{
    switch (style) {
    case DIFF_PATCH:
        return print_patch (change, out);
    case DIFF_NAME_STATUS:
        print_name_status (change, out);
        return 0;
    case DIFF_JSON:
        print_json (change, out);
        return 0;
    default:
        diff_print_line (change, out);
        return 0;
    }
}
