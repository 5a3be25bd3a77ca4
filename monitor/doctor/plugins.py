"""List what other distributions add, and why some of it is not used."""

from collections.abc import Iterator

from checks import check_of_plugin, load_catalog
from monitor.channels import NO_NAMES, kind_of_plugin
from monitor.doctor.finding import Finding, FindingStatus
from sources import OWN_SCHEMES, PluginError, PluginGroup, refused_plugins, usable_plugins


def examine_plugins() -> Iterator[Finding]:
    """Yield a finding for each check, channel and source of another distribution."""
    own = {
        PluginGroup.CHECKS: load_catalog().own,
        PluginGroup.CHANNELS: NO_NAMES,
        PluginGroup.SOURCES: OWN_SCHEMES,
    }
    for group, names in own.items():
        for problem in refused_plugins(group, names).values():
            yield Finding("plugins", FindingStatus.ERROR, problem, "ask its authors, or remove the distribution")
        for name, plugin in usable_plugins(group, names).items():
            try:
                if group is PluginGroup.CHECKS:
                    check_of_plugin(name, names)
                elif group is PluginGroup.CHANNELS:
                    kind_of_plugin(plugin)
                else:
                    plugin.load()
            except PluginError as error:
                yield Finding("plugins", FindingStatus.ERROR, str(error), "correct or remove the distribution")
            else:
                yield Finding("plugins", FindingStatus.OK, str(plugin))
