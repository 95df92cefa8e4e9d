# SPDX-License-Identifier: LGPL-2.1-or-later
# A translator is a folder, <category>/<name>, with a local.mk of its own, and a line here.
# Its module is installed as $(pkglibdir)/xlator/<category>/<name>.so. (The variable of the folder has `exec` in its name,
# or automake would take modules for data.)

# The one folder of headers that a translator is shown, and the one symbol that it shows.
module_cpp = -D_GNU_SOURCE -I$(top_srcdir)/src $(GLIB_CFLAGS)
module_link = $(AM_LDFLAGS) -module -avoid-version -shared -export-symbols-regex '^xlator_api$$'

# category/name of each, for what is done with all of them.
translators =

# A category with several translators has its folder here.
xlatordebugexecdir = $(pkglibdir)/xlator/debug
xlatordebugexec_LTLIBRARIES =
xlatorfeaturesexecdir = $(pkglibdir)/xlator/features
xlatorfeaturesexec_LTLIBRARIES =
xlatorperformanceexecdir = $(pkglibdir)/xlator/performance
xlatorperformanceexec_LTLIBRARIES =

include %D%/debug/delay-gen/local.mk
include %D%/debug/error-gen/local.mk
include %D%/debug/fault/local.mk
include %D%/debug/io-stats/local.mk
include %D%/debug/power-cut/local.mk
include %D%/debug/trace/local.mk
include %D%/encryption/rot-13/local.mk
include %D%/meta/meta/local.mk
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
include %D%/storage/posix/local.mk
include %D%/system/posix-acl/local.mk
