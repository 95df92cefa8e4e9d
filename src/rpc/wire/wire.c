/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/wire/wire.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

/* --- rows ------------------------------------------------------------------------------------- */

#define WIRE_FIELD(member_, form_) { #member_, WIRE_FORM_##form_, offsetof (THIS, member_) },
#define WIRE_FIELDS(kind_, name_) WIRE_FIELDS_##kind_ (name_)

#define WIRE_TABLE(number_, struct_, rows_)                                                        \
    case number_: {                                                                                \
        typedef struct struct_ THIS;                                                               \
        static const struct wire_field fields[] = { rows_ (WIRE_FIELDS) { 0 } };                   \
        return fields;                                                                             \
    }
#define WIRE_CALL_TABLE(name_, number_, ...) WIRE_TABLE (number_, wire_##name_, WIRE_ARGS_##name_)
#define WIRE_REPLY_TABLE(name_, number_, ...)                                                      \
    WIRE_TABLE (number_, wire_##name_##_reply, WIRE_RETS_##name_)
#define WIRE_NAME(name_, number_, text_, ...)                                                      \
    case number_:                                                                                  \
        return text_;

const struct wire_field *
wire_call_fields (uint32_t procedure)
{
    switch (procedure) {
        WIRE_LIST (WIRE_CALL_TABLE)
    default:
        return NULL;
    }
}

const struct wire_field *
wire_reply_fields (uint32_t procedure)
{
    switch (procedure) {
        WIRE_LIST (WIRE_REPLY_TABLE)
    default:
        return NULL;
    }
}

const char *
wire_procedure_name (uint32_t procedure)
{
    switch (procedure) {
        WIRE_LIST (WIRE_NAME)
    default:
        return "?";
    }
}

/* --- one field -------------------------------------------------------------------------------- */

/* Puts one field. value points to the member of the struct. */
static void
wire_put_field (struct xdr_out *out, enum wire_form form, const void *value)
{
    const char *text = form == WIRE_FORM_TEXT || form == WIRE_FORM_PATH
                            || form == WIRE_FORM_SOME_NAME || form == WIRE_FORM_SOME_ENTRY
                         ? *(const char *const *) value
                         : NULL;

    switch (form) {
    case WIRE_FORM_FD:
        wire_put_gfid (out, &((const struct wire_fd *) value)->gfid);
        xdr_put_u64 (out, (uint64_t) ((const struct wire_fd *) value)->number);
        break;
    case WIRE_FORM_FILE:
    case WIRE_FORM_GFID:
        wire_put_gfid (out, value);
        break;
    case WIRE_FORM_U32:
        xdr_put_u32 (out, *(const uint32_t *) value);
        break;
    case WIRE_FORM_U64:
        xdr_put_u64 (out, *(const uint64_t *) value);
        break;
    case WIRE_FORM_SOME_NAME:
        xdr_put_u32 (out, text ? 1 : 0);
        xdr_put_string (out, text ? text : "");
        break;
    case WIRE_FORM_SOME_ENTRY:
        xdr_put_u64 (out, text ? 1 : 0);
        xdr_put_string (out, text ? text : "");
        break;
    case WIRE_FORM_TEXT:
    case WIRE_FORM_PATH:
        xdr_put_string (out, text ? text : "");
        break;
    case WIRE_FORM_DICT:
    case WIRE_FORM_XDATA:
        wire_put_dict (out, *(dict_t *const *) value);
        break;
    case WIRE_FORM_IATT:
        wire_put_iatt (out, value);
        break;
    case WIRE_FORM_CHANGES:
        wire_put_changes (out, value);
        break;
    case WIRE_FORM_STATVFS:
        wire_put_statvfs (out, value);
        break;
    case WIRE_FORM_LOCK:
        wire_put_flock (out, value);
        break;
    }
}

/* Returns a text, to be freed with g_free; NULL if `some`, the number before it, is 0. */
static char *
wire_get_some (struct xdr_in *in, bool some)
{
    char *text = xdr_get_string (in, WIRE_NAME_MAX);

    if (!some)
        g_clear_pointer (&text, g_free);
    return text;
}

static void
wire_get_field (struct xdr_in *in, enum wire_form form, void *value)
{
    switch (form) {
    case WIRE_FORM_FD:
        ((struct wire_fd *) value)->gfid = wire_get_gfid (in);
        ((struct wire_fd *) value)->number = (int64_t) xdr_get_u64 (in);
        break;
    case WIRE_FORM_FILE:
    case WIRE_FORM_GFID:
        *(gfid_t *) value = wire_get_gfid (in);
        break;
    case WIRE_FORM_U32:
        *(uint32_t *) value = xdr_get_u32 (in);
        break;
    case WIRE_FORM_U64:
        *(uint64_t *) value = xdr_get_u64 (in);
        break;
    case WIRE_FORM_TEXT:
        *(char **) value = xdr_get_string (in, WIRE_NAME_MAX);
        break;
    case WIRE_FORM_PATH:
        *(char **) value = xdr_get_string (in, PATH_MAX);
        break;
    case WIRE_FORM_SOME_NAME:
        *(char **) value = wire_get_some (in, xdr_get_u32 (in) > 0);
        break;
    case WIRE_FORM_SOME_ENTRY:
        *(char **) value = wire_get_some (in, xdr_get_u64 (in) > 0);
        break;
    case WIRE_FORM_DICT:
        *(dict_t **) value = wire_get_dict (in);
        if (!*(dict_t **) value)
            *(dict_t **) value = dict_new ();
        break;
    case WIRE_FORM_XDATA:
        *(dict_t **) value = wire_get_dict (in);
        break;
    case WIRE_FORM_IATT:
        wire_get_iatt (in, value);
        break;
    case WIRE_FORM_CHANGES:
        wire_get_changes (in, value);
        break;
    case WIRE_FORM_STATVFS:
        wire_get_statvfs (in, value);
        break;
    case WIRE_FORM_LOCK:
        wire_get_flock (in, value);
        break;
    }
}

static void
wire_clear_field (enum wire_form form, void *value)
{
    switch (form) {
    case WIRE_FORM_TEXT:
    case WIRE_FORM_PATH:
    case WIRE_FORM_SOME_NAME:
    case WIRE_FORM_SOME_ENTRY:
        g_clear_pointer ((char **) value, g_free);
        break;
    case WIRE_FORM_DICT:
    case WIRE_FORM_XDATA:
        g_clear_pointer ((dict_t **) value, dict_unref);
        break;
    default:
        break;
    }
}

/* --- calls and replies ------------------------------------------------------------------------ */

static void
wire_put_fields (struct xdr_out *out, const struct wire_field *field, const void *from)
{
    for (; field->name; field++)
        wire_put_field (out, field->form, (const char *) from + field->at);
}

static void
wire_get_fields (struct xdr_in *in, const struct wire_field *field, void *to)
{
    for (; field->name; field++)
        wire_get_field (in, field->form, (char *) to + field->at);
}

static void
wire_clear_fields (const struct wire_field *field, void *of)
{
    for (; field->name; field++)
        wire_clear_field (field->form, (char *) of + field->at);
}

void
wire_put_call (struct xdr_out *out, enum wire_procedure procedure, const void *call)
{
    wire_put_fields (out, wire_call_fields (procedure), call);
}

void
wire_put_arguments (struct xdr_out *out, enum wire_procedure procedure, const void *call)
{
    const struct wire_field *field = wire_call_fields (procedure);
    const bool about_file = field->form == WIRE_FORM_FILE || field->form == WIRE_FORM_FD;

    wire_put_fields (out, about_file ? field + 1 : field, call);
}

void
wire_get_call (struct xdr_in *in, enum wire_procedure procedure, void *ret_call)
{
    wire_get_fields (in, wire_call_fields (procedure), ret_call);
}

void
wire_clear_call (enum wire_procedure procedure, void *call)
{
    wire_clear_fields (wire_call_fields (procedure), call);
}

void
wire_put_reply (struct xdr_out *out, enum wire_procedure procedure, const void *reply)
{
    const struct wire_reply *head = reply;

    xdr_put_u32 (out, (uint32_t) head->op_ret);
    xdr_put_u32 (out, (uint32_t) head->op_errno);
    wire_put_fields (out, wire_reply_fields (procedure), reply);
}

void
wire_get_reply (struct xdr_in *in, enum wire_procedure procedure, void *ret_reply)
{
    const struct wire_field *fields = wire_reply_fields (procedure);
    struct wire_reply *head = ret_reply;

    head->op_ret = xdr_get_i32 (in);
    head->op_errno = xdr_get_i32 (in);
    if (head->op_ret >= 0)
        wire_get_fields (in, fields, ret_reply);
    else if (fields->form == WIRE_FORM_XDATA)
        wire_get_field (in, fields->form, (char *) ret_reply + fields->at);
}

void
wire_clear_reply (enum wire_procedure procedure, void *reply)
{
    wire_clear_fields (wire_reply_fields (procedure), reply);
}

dict_t *
wire_xdata_of (enum wire_procedure procedure, const void *reply)
{
    for (const struct wire_field *field = wire_reply_fields (procedure); field->name; field++)
        if (field->form == WIRE_FORM_XDATA)
            return *(dict_t *const *) ((const char *) reply + field->at);
    return NULL;
}
