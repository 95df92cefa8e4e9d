# SPDX-License-Identifier: LGPL-2.1-or-later
# A translator is a folder, <category>/<name>, with a local.mk of its own, and a line here. Its
# module is xlators/<category>/<name>.so, installed as $(pkglibdir)/xlator/<category>/<name>.so.
# Automake is told that a module is a program, which happens to be linked with -shared: libtool
# would take as long for each file as the compiler. (The variable of the folder has `exec` in its
# name, or automake would install modules with the data.)

# The one folder of headers that a translator is shown, and the one symbol that it shows.
module_cpp = -D_GNU_SOURCE -I$(top_srcdir)/src $(GLIB_CFLAGS)
module_cflags = $(AM_CFLAGS) -fPIC
module_link = $(WINDLASS_LDFLAGS) $(SANITIZERS) -shared \
    -Wl,--version-script=$(top_srcdir)/xlators/module.map

# A category with several translators has its folder here.
xlatorclusterexecdir = $(pkglibdir)/xlator/cluster
xlatorclusterexec_PROGRAMS =
xlatordebugexecdir = $(pkglibdir)/xlator/debug
xlatordebugexec_PROGRAMS =
xlatorfeaturesexecdir = $(pkglibdir)/xlator/features
xlatorfeaturesexec_PROGRAMS =
xlatorperformanceexecdir = $(pkglibdir)/xlator/performance
xlatorperformanceexec_PROGRAMS =

include %D%/cluster/distribute/local.mk
include %D%/cluster/overlay/local.mk
include %D%/cluster/replicate/local.mk
include %D%/debug/delay-gen/local.mk
include %D%/debug/error-gen/local.mk
include %D%/debug/fault/local.mk
include %D%/debug/io-stats/local.mk
include %D%/debug/power-cut/local.mk
include %D%/debug/trace/local.mk
include %D%/encryption/rot-13/local.mk
include %D%/meta/meta/local.mk
include %D%/features/audit/local.mk
include %D%/features/read-only/local.mk
include %D%/features/subdirectory/local.mk
include %D%/features/trash/local.mk
include %D%/features/utime/local.mk
include %D%/performance/io-cache/local.mk
include %D%/performance/md-cache/local.mk
include %D%/performance/nl-cache/local.mk
include %D%/performance/read-ahead/local.mk
include %D%/performance/open-behind/local.mk
include %D%/performance/quick-read/local.mk
include %D%/performance/readdir-ahead/local.mk
include %D%/performance/io-threads/local.mk
include %D%/performance/write-behind/local.mk
include %D%/protocol/client/local.mk
include %D%/storage/posix/local.mk
include %D%/system/posix-acl/local.mk
