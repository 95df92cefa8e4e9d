/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rows of rpc/wire/wire.def against wire.recorded: calls of GlusterFS 10.3's own client and replies
 * of its server. A wrong order of fields in a row would cancel out between protocol/client and the
 * brick of the conformance kit, so each row needs a recorded call and a recorded reply, with the
 * values that are known to be in them.
 */
#include "../program.h"
#include "rpc/wire/wire.h"

#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

/* --- a struct as text, one line for each field ------------------------------------------------ */

static void
describe_gfid (GString *text, const gfid_t *gfid)
{
    char gfid_as_text[GFID_TEXT_SIZE];

    g_string_append_printf (text, " %s", gfid_text (gfid, gfid_as_text));
}

static void
describe_iatt (GString *text, const struct iatt *iatt)
{
    describe_gfid (text, &iatt->ia_gfid);
    g_string_append_printf (text, " mode %o, %u links, owner %u:%u, dev %u:%u\n   ",
                            mode_of_iatt (iatt), iatt->ia_nlink, iatt->ia_uid, iatt->ia_gid,
                            major (iatt->ia_rdev), minor (iatt->ia_rdev));
    g_string_append_printf (text, " size %" PRIu64 ", %" PRIu64 " blocks, %u a block,",
                            iatt->ia_size, iatt->ia_blocks, iatt->ia_blksize);
    g_string_append_printf (text, " %" PRId64 ".%09u %" PRId64 ".%09u %" PRId64 ".%09u",
                            iatt->ia_atime, iatt->ia_atime_nsec, iatt->ia_mtime,
                            iatt->ia_mtime_nsec, iatt->ia_ctime, iatt->ia_ctime_nsec);
}

static void
describe_value (GString *text, const void *value, size_t size)
{
    struct iatt iatt;

    if (size == sizeof iatt) {
        memcpy (&iatt, value, size);
        describe_iatt (text, &iatt);
        return;
    }
    g_string_append_c (text, ' ');
    for (size_t i = 0; i < size; i++)
        g_string_append_printf (text, "%02x", ((const uint8_t *) value)[i]);
}

static void
describe_dict (GString *text, const dict_t *dict)
{
    const char *key;
    const void *value;
    size_t size;

    if (!dict)
        g_string_append (text, " none");
    for (size_t i = 0; dict && i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, &value, &size);
        g_string_append_printf (text, "\n    %s", key);
        describe_value (text, value, size);
    }
}

static void
describe_statvfs (GString *text, const struct statvfs *buf)
{
    g_string_append_printf (text, " %lu %lu, %lu %lu %lu blocks, %lu %lu %lu files, %lx %lx %lu",
                            buf->f_bsize, buf->f_frsize, buf->f_blocks, buf->f_bfree,
                            buf->f_bavail, buf->f_files, buf->f_ffree, buf->f_favail, buf->f_fsid,
                            buf->f_flag, buf->f_namemax);
}

static void
describe_lock (GString *text, const struct gf_flock *lock)
{
    g_string_append_printf (text, " type %d whence %d %jd+%jd pid %d owner %" PRIx64, lock->l_type,
                            lock->l_whence, (intmax_t) lock->l_start, (intmax_t) lock->l_len,
                            lock->l_pid, lock->l_owner);
}

static void
describe_field (GString *text, enum wire_form form, const void *value)
{
    switch (form) {
    case WIRE_FORM_FD:
        describe_gfid (text, &((const struct wire_fd *) value)->gfid);
        g_string_append_printf (text, " number %" PRId64, ((const struct wire_fd *) value)->number);
        break;
    case WIRE_FORM_FILE:
    case WIRE_FORM_GFID:
        describe_gfid (text, value);
        break;
    case WIRE_FORM_U32:
        g_string_append_printf (text, " 0x%x", *(const uint32_t *) value);
        break;
    case WIRE_FORM_U64:
        g_string_append_printf (text, " 0x%" PRIx64, *(const uint64_t *) value);
        break;
    case WIRE_FORM_TEXT:
    case WIRE_FORM_PATH:
    case WIRE_FORM_SOME_NAME:
    case WIRE_FORM_SOME_ENTRY:
        g_string_append_printf (text, " %s", *(char *const *) value ? *(char *const *) value
                                                                    : "none");
        break;
    case WIRE_FORM_DICT:
    case WIRE_FORM_XDATA:
        describe_dict (text, *(dict_t *const *) value);
        break;
    case WIRE_FORM_CHANGES:
        g_string_append_printf (text, " 0x%x", ((const struct wire_changes *) value)->valid);
        describe_iatt (text, &((const struct wire_changes *) value)->iatt);
        break;
    case WIRE_FORM_IATT:
        describe_iatt (text, value);
        break;
    case WIRE_FORM_STATVFS:
        describe_statvfs (text, value);
        break;
    case WIRE_FORM_LOCK:
        describe_lock (text, value);
        break;
    }
}

static void
describe_fields (GString *text, const struct wire_field *field, const void *of)
{
    for (; field->name; field++) {
        g_string_append_printf (text, "  %s", field->name);
        describe_field (text, field->form, (const char *) of + field->at);
        g_string_append_c (text, '\n');
    }
}

/* --- bytes as text, and the text's bytes ------------------------------------------------------ */

static _Alignas (16) char of_call[4096], of_reply[4096]; /* any struct of a row */

static void
describe_rest (struct xdr_in *in, GString *text)
{
    if (in->failed)
        g_string_append (text, "  bytes are missing\n");
    else if (xdr_left (in) > 0)
        g_string_append_printf (text, "  %zu bytes of data\n", xdr_left (in));
}

/* Returns what the bytes of a call are; *again: the fields on the wire again. */
static char *
call_text (enum wire_procedure procedure, struct xdr_in in, struct xdr_out *again)
{
    GString *text = g_string_new (NULL);

    memset (of_call, 0, sizeof of_call);
    wire_get_call (&in, procedure, of_call);
    describe_fields (text, wire_call_fields (procedure), of_call);
    describe_rest (&in, text);
    wire_put_call (again, procedure, of_call);
    wire_clear_call (procedure, of_call);
    return g_string_free (text, FALSE);
}

static char *
reply_text (enum wire_procedure procedure, struct xdr_in in, struct xdr_out *again)
{
    const struct wire_reply *head = (const struct wire_reply *) of_reply;
    GString *text = g_string_new (NULL);

    memset (of_reply, 0, sizeof of_reply);
    wire_get_reply (&in, procedure, of_reply);
    g_string_append_printf (text, "  op_ret %d op_errno %d\n", head->op_ret, head->op_errno);
    if (head->op_ret >= 0)
        describe_fields (text, wire_reply_fields (procedure), of_reply);
    describe_rest (&in, text);
    wire_put_reply (again, procedure, of_reply);
    wire_clear_reply (procedure, of_reply);
    return g_string_free (text, FALSE);
}

/* --- the recording ---------------------------------------------------------------------------- */

struct block {
    char *name; /* "STAT call" */
    GByteArray *bytes;
    GString *text;
};

static GPtrArray *blocks;

static void
add_bytes (struct block *block, const char *hex)
{
    for (; g_ascii_isxdigit (hex[0]); hex += hex[2] == ' ' ? 3 : 2) {
        const uint8_t byte =
            (uint8_t) (g_ascii_xdigit_value (hex[0]) << 4 | g_ascii_xdigit_value (hex[1]));
        g_byte_array_append (block->bytes, &byte, 1);
    }
}

static void
recording_add_line (const char *line)
{
    struct block *block = blocks->len > 0 ? blocks->pdata[blocks->len - 1] : NULL;

    if (line[0] == '>') {
        add_bytes (block, line + 2);
    } else if (line[0] == ' ') {
        g_string_append_printf (block->text, "%s\n", line);
    } else if (line[0] != '\0' && line[0] != '#') {
        block = g_new0 (struct block, 1);
        block->name = g_strdup (line);
        block->bytes = g_byte_array_new ();
        block->text = g_string_new (NULL);
        g_ptr_array_add (blocks, block);
    }
}

static void
read_recording (void)
{
    g_autofree char *path = g_build_filename (g_getenv ("SOURCE_DIR"), "tests", "unit",
                                              "wire.recorded", NULL);
    g_autofree char *all = NULL;
    g_auto (GStrv) lines = NULL;

    ck_assert_msg (g_file_get_contents (path, &all, NULL, NULL), "no %s", path);
    lines = g_strsplit (all, "\n", -1);
    blocks = g_ptr_array_new ();
    for (char **line = lines; *line; line++)
        recording_add_line (*line);
}

/* Returns whether the call put again has the same bytes. Not if it has a dict: GlusterFS has more
 * types of a value, and an empty dict that comes is none; nor if a lock's owner has no bytes, or
 * with attributes to change, which name the changes twice. */
static bool
bytes_come_back (const struct block *block, const char *text)
{
    static const char *const differ[] = { "xdata\n", "dict\n", "owner 0\n", "stbuf" };
    static const uint8_t empty_dict[12];
    const size_t size = block->bytes->len;

    for (size_t i = 0; i < G_N_ELEMENTS (differ); i++)
        if (strstr (text, differ[i]))
            return false;
    return memcmp (block->bytes->data + size - sizeof empty_dict, empty_dict, sizeof empty_dict)
        != 0;
}

typedef char *text_fn (enum wire_procedure procedure, struct xdr_in in, struct xdr_out *again);

static void
check_block (const struct block *block, enum wire_procedure procedure, text_fn *to_text, bool call)
{
    g_autofree char *text = NULL, *text_again = NULL;
    struct xdr_out again, third;

    xdr_out_init (&again);
    xdr_out_init (&third);
    text = to_text (procedure, xdr_in_of (block->bytes->data, block->bytes->len), &again);
    ck_assert_msg (strcmp (text, block->text->str) == 0, "%s has\n%s, not\n%s", block->name, text,
                   block->text->str);
    text_again = to_text (procedure, xdr_in_of (again.bytes, again.used), &third);
    ck_assert_msg (g_str_has_prefix (text, text_again), "%s comes back as\n%s, not\n%s",
                   block->name, text_again, text);
    if (call && bytes_come_back (block, text))
        ck_assert_mem_eq (again.bytes, block->bytes->data, again.used);
    xdr_out_clear (&again);
    xdr_out_clear (&third);
}

static unsigned
check_all (enum wire_procedure procedure, const char *what, text_fn *to_text, bool call)
{
    g_autofree char *name = g_strdup_printf ("%s %s", wire_procedure_name (procedure), what);
    unsigned n = 0;

    for (guint i = 0; i < blocks->len; i++) {
        const struct block *block = blocks->pdata[i];

        if (strcmp (block->name, name) != 0)
            continue;
        check_block (block, procedure, to_text, call);
        n++;
    }
    ck_assert_msg (n > 0, "wire.recorded has no %s; send one to a server, and record it", name);
    return n;
}

START_TEST (rows_are_as_recorded)
{
    unsigned checked = 0;

    read_recording ();
    for (unsigned procedure = 0; procedure < WIRE_MAX; procedure++)
        if (wire_call_fields (procedure)) {
            checked += check_all (procedure, "call", call_text, true);
            checked += check_all (procedure, "reply", reply_text, false);
        }
    ck_assert_uint_eq (checked, blocks->len);
}
END_TEST

/* A call about a file goes out by its gfid or by the number of an open file: the arguments behind
 * the file are the same. */
START_TEST (procedures_in_pairs_have_the_same_arguments)
{
    static const enum wire_procedure pairs[][2] = {
        { WIRE_stat, WIRE_fstat },         { WIRE_getxattr, WIRE_fgetxattr },
        { WIRE_xattrop, WIRE_fxattrop },   { WIRE_setattr, WIRE_fsetattr },
        { WIRE_setxattr, WIRE_fsetxattr }, { WIRE_removexattr, WIRE_fremovexattr },
        { WIRE_inodelk, WIRE_finodelk },   { WIRE_entrylk, WIRE_fentrylk },
    };

    for (size_t i = 0; i < G_N_ELEMENTS (pairs); i++) {
        const struct wire_field *a = wire_call_fields (pairs[i][0]) + 1,
                                *b = wire_call_fields (pairs[i][1]) + 1;

        for (; a->name && b->name; a++, b++)
            ck_assert_int_eq (a->form, b->form);
        ck_assert_msg (!a->name && !b->name, "%s", wire_procedure_name (pairs[i][0]));
    }
}
END_TEST

START_TEST (a_number_of_no_row_has_no_fields)
{
    ck_assert_ptr_null (wire_call_fields (0));
    ck_assert_ptr_null (wire_reply_fields (47));
    ck_assert_ptr_null (wire_call_fields (WIRE_MAX));
    ck_assert_str_eq (wire_procedure_name (47), "?");
    ck_assert_str_eq (wire_procedure_name (WIRE_readv), "READ");
}
END_TEST

TEST_PROGRAM (test_wire)
{
    Suite *suite = suite_create ("wire");
    TCase *tcase = tcase_create ("rows");

    tcase_add_test (tcase, rows_are_as_recorded);
    tcase_add_test (tcase, procedures_in_pairs_have_the_same_arguments);
    tcase_add_test (tcase, a_number_of_no_row_has_no_fields);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
