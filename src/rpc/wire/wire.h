/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Procedures of GlusterFS's program for operations on files, generated from rpc/wire/wire.def: for
 * each procedure its number (WIRE_setxattr), a struct of the fields of its call (struct
 * wire_setxattr), and one of the fields of its reply (struct wire_setxattr_reply). The functions
 * put these structs on the wire, and get them from the wire.
 *
 *   struct wire_setxattr call = { .loc = gfid, .flags = XATTR_CREATE, .dict = dict };
 *   wire_put_call (&out, WIRE_setxattr, &call);
 *
 * wire_put_* borrow the values in a struct. wire_get_* make a struct that owns its values, so the
 * caller clears it. The bytes that wire_get_* read may be hostile: see rpc/xdr.h.
 */
#ifndef WINDLASS_RPC_WIRE_WIRE_H
#define WINDLASS_RPC_WIRE_WIRE_H

#include "core/table/fops-rows.h"
#include "rpc/wire/values.h"
#include "rpc/wire/wire-rows.h"

#define WIRE_VERSION 400

/* WIRE_lookup, ...; 0 is none. */
enum wire_procedure {
    WIRE_NONE,
#define WIRE_NUMBER(name_, number_, ...) WIRE_##name_ = number_,
    WIRE_LIST (WIRE_NUMBER)
#undef WIRE_NUMBER
    WIRE_MAX
};

/* Forms of a field on the wire. */
enum wire_form {
    WIRE_FORM_FILE,       /* the gfid of the file that the call is about: gfid_t */
    WIRE_FORM_FD,         /* the open file that the call is about: struct wire_fd */
    WIRE_FORM_GFID,       /* another gfid: gfid_t */
    WIRE_FORM_U32,        /* uint32_t */
    WIRE_FORM_U64,        /* uint64_t */
    WIRE_FORM_TEXT,       /* at most WIRE_NAME_MAX bytes: const char * */
    WIRE_FORM_PATH,       /* at most PATH_MAX bytes: const char * */
    WIRE_FORM_SOME_NAME,  /* a 32-bit number (0: there is no text), then a text: const char *, or
                           * NULL */
    WIRE_FORM_SOME_ENTRY, /* a 64-bit number (0: there is no text), then a text: const char *, or
                           * NULL */
    WIRE_FORM_DICT,       /* dict_t *; an empty dict if the sender has sent none */
    WIRE_FORM_XDATA,      /* dict_t *, or NULL */
    WIRE_FORM_IATT,       /* struct iatt */
    WIRE_FORM_CHANGES,    /* struct wire_changes */
    WIRE_FORM_STATVFS,    /* struct statvfs */
    WIRE_FORM_LOCK,       /* struct gf_flock */
};

/*
 * The kinds of fields in wire.def. For each kind, WIRE_MEMBERS_KIND declares the members of the
 * struct, and WIRE_FIELDS_KIND has a WIRE_FIELD (member, form) for each member. protocol/client and
 * conform/brick have macros that convert between a member and the argument of the operation that
 * has the field's name.
 */
#define WIRE_MEMBERS_LOC(name_) gfid_t name_;
#define WIRE_FIELDS_LOC(name_) WIRE_FIELD (name_, FILE)
#define WIRE_MEMBERS_FD(name_) struct wire_fd name_;
#define WIRE_FIELDS_FD(name_) WIRE_FIELD (name_, FD)
#define WIRE_MEMBERS_GFID(name_) gfid_t name_;
#define WIRE_FIELDS_GFID(name_) WIRE_FIELD (name_, GFID)
/* The file of a loc, in a call that gives the file another name. */
#define WIRE_MEMBERS_LINKED(name_) gfid_t name_;
#define WIRE_FIELDS_LINKED(name_) WIRE_FIELD (name_, GFID)
/* The directory of a loc, and the name in that directory. */
#define WIRE_MEMBERS_PARENT(name_) gfid_t name_##_parent;
#define WIRE_FIELDS_PARENT(name_) WIRE_FIELD (name_##_parent, GFID)
#define WIRE_MEMBERS_NAME(name_) const char *name_##_name;
#define WIRE_FIELDS_NAME(name_) WIRE_FIELD (name_##_name, TEXT)
#define WIRE_MEMBERS_U32(name_) uint32_t name_;
#define WIRE_FIELDS_U32(name_) WIRE_FIELD (name_, U32)
#define WIRE_MEMBERS_BOOL(name_) uint32_t name_;
#define WIRE_FIELDS_BOOL(name_) WIRE_FIELD (name_, U32)
/* Flags of open(2). */
#define WIRE_MEMBERS_OPEN_FLAGS(name_) uint32_t name_;
#define WIRE_FIELDS_OPEN_FLAGS(name_) WIRE_FIELD (name_, U32)
/* Whether fallocate keeps the size of the file: FALLOC_FL_KEEP_SIZE. */
#define WIRE_MEMBERS_KEEP_SIZE(name_) uint32_t name_;
#define WIRE_FIELDS_KEEP_SIZE(name_) WIRE_FIELD (name_, U32)
/* The argument `whence` of seek. On the wire, 0 is SEEK_DATA and 1 is SEEK_HOLE. */
#define WIRE_MEMBERS_WHENCE(name_) uint32_t name_;
#define WIRE_FIELDS_WHENCE(name_) WIRE_FIELD (name_, U32)
/* An argument `flags` of the operation that has no field on the wire. The argument must be 0. */
#define WIRE_MEMBERS_NO_FLAGS(name_)
#define WIRE_FIELDS_NO_FLAGS(name_)
#define WIRE_MEMBERS_U64(name_) uint64_t name_;
#define WIRE_FIELDS_U64(name_) WIRE_FIELD (name_, U64)
/* Offset and length of the range that a call changes. */
#define WIRE_MEMBERS_START(name_) uint64_t name_;
#define WIRE_FIELDS_START(name_) WIRE_FIELD (name_, U64)
#define WIRE_MEMBERS_LENGTH(name_) uint64_t name_;
#define WIRE_FIELDS_LENGTH(name_) WIRE_FIELD (name_, U64)
#define WIRE_MEMBERS_TEXT(name_) const char *name_;
#define WIRE_FIELDS_TEXT(name_) WIRE_FIELD (name_, TEXT)
#define WIRE_MEMBERS_PATH(name_) const char *name_;
#define WIRE_FIELDS_PATH(name_) WIRE_FIELD (name_, PATH)
#define WIRE_MEMBERS_SOME_NAME(name_) const char *name_;
#define WIRE_FIELDS_SOME_NAME(name_) WIRE_FIELD (name_, SOME_NAME)
#define WIRE_MEMBERS_SOME_ENTRY(name_) const char *name_;
#define WIRE_FIELDS_SOME_ENTRY(name_) WIRE_FIELD (name_, SOME_ENTRY)
#define WIRE_MEMBERS_DICT(name_) dict_t *name_;
#define WIRE_FIELDS_DICT(name_) WIRE_FIELD (name_, DICT)
#define WIRE_MEMBERS_XDATA(name_) dict_t *name_;
#define WIRE_FIELDS_XDATA(name_) WIRE_FIELD (name_, XDATA)
/* xdata of a call that makes an object: it has the object's gfid. */
#define WIRE_MEMBERS_NEW_XDATA(name_) dict_t *name_;
#define WIRE_FIELDS_NEW_XDATA(name_) WIRE_FIELD (name_, XDATA)
#define WIRE_MEMBERS_IATT(name_) struct iatt name_;
#define WIRE_FIELDS_IATT(name_) WIRE_FIELD (name_, IATT)
/* Attributes in a reply that the operation does not pass to its caller. */
#define WIRE_MEMBERS_NO_IATT(name_) struct iatt name_;
#define WIRE_FIELDS_NO_IATT(name_) WIRE_FIELD (name_, IATT)
#define WIRE_MEMBERS_CHANGES(name_) struct wire_changes name_;
#define WIRE_FIELDS_CHANGES(name_) WIRE_FIELD (name_, CHANGES)
#define WIRE_MEMBERS_STATVFS(name_) struct statvfs name_;
#define WIRE_FIELDS_STATVFS(name_) WIRE_FIELD (name_, STATVFS)
#define WIRE_MEMBERS_LOCK(name_) struct gf_flock name_;
#define WIRE_FIELDS_LOCK(name_) WIRE_FIELD (name_, LOCK)

/* The first two fields of each reply. */
struct wire_reply {
    int32_t op_ret, op_errno;
};

#define WIRE_MEMBERS(kind_, name_) WIRE_MEMBERS_##kind_ (name_)
#define WIRE_STRUCTS(name_, ...)                                                                   \
    struct wire_##name_ {                                                                          \
        WIRE_ARGS_##name_ (WIRE_MEMBERS)                                                           \
    };                                                                                             \
    struct wire_##name_##_reply {                                                                  \
        struct wire_reply head;                                                                    \
        WIRE_RETS_##name_ (WIRE_MEMBERS)                                                           \
    };
WIRE_LIST (WIRE_STRUCTS)
#undef WIRE_STRUCTS

/* A field of a call or of a reply. */
struct wire_field {
    const char *name; /* NULL: the end of the fields */
    enum wire_form form;
    size_t at; /* offset in the struct, in bytes */
};

/* Return the fields of a procedure's call, and of its reply without struct wire_reply; NULL: there
 * is no such procedure. */
const struct wire_field *wire_call_fields (uint32_t procedure);
const struct wire_field *wire_reply_fields (uint32_t procedure);

const char *wire_procedure_name (uint32_t procedure); /* "SETXATTR"; "?" if there is none */

/* Put calls and replies on the wire, get them from there, and free their values. call and reply
 * point to the procedure's structs; ret_call and ret_reply must point to zeros. wire_put_arguments
 * leaves out the file that the call is about (WIRE_FORM_FILE or WIRE_FORM_FD). From the reply to a
 * failed call (op_ret is negative), wire_get_reply reads only the xdata, and that only if it is the
 * first field. */
void wire_put_call (struct xdr_out *out, enum wire_procedure procedure, const void *call);
void wire_put_arguments (struct xdr_out *out, enum wire_procedure procedure, const void *call);
void wire_get_call (struct xdr_in *in, enum wire_procedure procedure, void *ret_call);
void wire_clear_call (enum wire_procedure procedure, void *call);
void wire_put_reply (struct xdr_out *out, enum wire_procedure procedure, const void *reply);
void wire_get_reply (struct xdr_in *in, enum wire_procedure procedure, void *ret_reply);
void wire_clear_reply (enum wire_procedure procedure, void *reply);

/* Returns the xdata of a reply, lent by the reply; NULL: it has none. */
dict_t *wire_xdata_of (enum wire_procedure procedure, const void *reply);

#endif
