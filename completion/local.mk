# SPDX-License-Identifier: LGPL-2.1-or-later
dist_bashcompletion_DATA = %D%/windlass
