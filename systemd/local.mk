# SPDX-License-Identifier: LGPL-2.1-or-later
# Units of systemd, for the machine and for a user, and what belongs to them. systemd looks for
# units in the prefixes /usr and /usr/local alone.

configdir = $(sysconfdir)/windlass
logrotatedir = $(sysconfdir)/logrotate.d
systemd_edit = $(SED) -e '/[@]hardening@/{' -e "$(systemd_hardening)" -e d -e '}' \
    -e "$(systemd_drop)" \
    -e 's|[@]bindir@|$(bindir)|g; s|[@]pkglibexecdir@|$(pkglibexecdir)|g' \
    -e 's|[@]target@|$(systemd_target)|g; s|[@]systemctl@|$(systemd_ctl)|g'
systemd_make = $(AM_V_GEN)$(MKDIR_P) $(@D) && $(systemd_edit) $< >$@.new && mv $@.new $@

dist_config_DATA = %D%/README
pkglibexec_SCRIPTS = systemd/service
nodist_logrotate_DATA = systemd/logrotate/windlass
CLEANFILES += systemd/service systemd/logrotate/windlass systemd/*/windlass@.service
if SYSTEM_UNITS
nodist_systemdsystemunit_DATA = systemd/system/windlass@.service
endif
if USER_UNITS
nodist_systemduserunit_DATA = systemd/user/windlass@.service
endif

systemd/system/windlass@.service: systemd_hardening = r $(srcdir)/%D%/hardening
systemd/system/windlass@.service: systemd_ctl = systemctl
systemd/system/windlass@.service: systemd_target = multi-user.target
systemd/system/windlass@.service: %D%/windlass@.service.in %D%/hardening Makefile
	$(systemd_make)

systemd/user/windlass@.service: systemd_drop = /^After=/d
systemd/user/windlass@.service: systemd_ctl = systemctl --user
systemd/user/windlass@.service: systemd_target = default.target
systemd/user/windlass@.service: %D%/windlass@.service.in Makefile
	$(systemd_make)

systemd/service: %D%/service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(systemd_edit) $< >$@.new && chmod +x $@.new && mv $@.new $@
systemd/logrotate/windlass: %D%/windlass.logrotate.in Makefile
	$(systemd_make)
