from .adapter import RESERVED, Adapter, stem
from .archive import PackedExport, make_files, pack_export
from .manifest import MANIFEST_NAME, Export, build_manifest, read_export, text_digest
from .push import push_export
from .readme import README_NAME
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target, request_settings
from .targets import GONE, TARGETS, named_target
from .template_parts import (
    Field,
    TemplateMessage,
    TemplatePart,
    fill,
    join_literals,
    template_messages,
)
from .template_syntaxes import double_brace, jinja
from .tool_scripts import SHARED_NAME, ToolScriptFailed, run_tool_script
from .verify import Verification, verify_export
from .write_files import put_files, write_export

__all__ = [
    "GONE",
    "MANIFEST_NAME",
    "README_NAME",
    "RESERVED",
    "SHARED_NAME",
    "TARGETS",
    "Adapter",
    "Export",
    "ExportContext",
    "ExportedFiles",
    "Field",
    "PackedExport",
    "Refused",
    "ScoreMap",
    "Target",
    "TemplateMessage",
    "TemplatePart",
    "ToolScriptFailed",
    "Verification",
    "build_manifest",
    "double_brace",
    "fill",
    "jinja",
    "join_literals",
    "make_files",
    "named_target",
    "pack_export",
    "push_export",
    "put_files",
    "read_export",
    "request_settings",
    "run_tool_script",
    "stem",
    "template_messages",
    "text_digest",
    "verify_export",
    "write_export",
]
