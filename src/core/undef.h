/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes back the macros with which fops.def was expanded. */
#undef FOP
#undef ARG
#undef REPLY
#undef RET
#undef END
