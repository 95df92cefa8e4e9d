# SPDX-License-Identifier: LGPL-2.1-or-later
# Examples, one for each translator and one with all. tests/mount/volfiles.sh mounts every *.vol here.

volfilesdir = $(pkgdatadir)/volfiles
dist_volfiles_DATA = \
    %D%/full-stack.vol \
    %D%/posix.vol \
    %D%/rot-13.vol
