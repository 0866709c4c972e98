"""How texts stand in files that people keep: comments and quotes, as YAML and HCL both have them."""

from collections.abc import Iterable, Mapping
from typing import Any

from remuda.output.show import one_line

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def comments(lines: Iterable[str], indent: int = 0) -> str:
    """Comment lines of HCL and YAML; whatever a line says, it stays one."""
    return "".join(f"{' ' * indent}# {one_line(line)}".rstrip() + "\n" for line in lines)


def quoted(value: str) -> str:
    """Text in quotes, as HCL and YAML both read it, but for the templates of HCL."""
    if value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    made = "".join(_ESCAPES.get(each) or (each if each.isprintable() else code(each)) for each in value)
    return f'"{made}"'


def code(char: str) -> str:
    """A character by its number."""
    number = ord(char)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def yaml_text(objects: Iterable[Mapping[str, Any]]) -> str:
    """Objects as a person reads them: text of several lines stays so."""
    import yaml  # noqa: PLC0415 - only who asks for YAML pays for it

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            """What stands twice is written twice."""
            del data
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return yaml.dump_all(objects, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
