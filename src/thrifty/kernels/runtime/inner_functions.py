"""Compilation of functions that only compiled functions call.

Numba optimises every function together with all that it calls, and makes machine code of it, and
does so again for its caller, at every level of the call tree. For an inner function that is wasted:
only the outermost function's machine code runs. Here an inner function stops at LLVM's code; the
function that Python, or another compiled function by its address, calls is optimised as a whole.
It halves the time to compile.

The passes are added as numba documents it, but they use parts of numba that may change. Where one
is missing `INNER_COMPILER` is None, and inner functions are compiled like all others.
"""

from __future__ import annotations

from typing import Any

try:
    from numba._dynfunc import make_function
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
    from numba.core.compiler_machinery import LoweringPass, register_pass
    from numba.core.typed_passes import AnnotateTypes, NativeLowering
except ImportError:
    INNER_COMPILER = None
else:

    class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
        """LLVM code to link into that of the callers: neither optimised nor made machine code."""

        def finalize(self) -> None:
            """Link in what the function calls."""
            for library in dict.fromkeys(self._linking_libraries):
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalized = True

    @register_pass(mutates_CFG=False, analysis_only=False)
    class _UseInnerLibrary(LoweringPass):  # type: ignore[misc]
        """Before the lowering: have the function lowered into a library that stays LLVM code."""

        _name = "use_inner_library"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            codegen = state.targetctx.codegen()
            state.library = _InnerLibrary(codegen, state.func_id.func_qualname)
            state.flags.no_compile = True
            return True

    @register_pass(mutates_CFG=False, analysis_only=False)
    class _LetOthersCall(LoweringPass):  # type: ignore[misc]
        """After the lowering: register the function for the lowering of its callers."""

        _name = "let_others_call"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            description, helper, _, environment = state.cr
            name = description.qualname.rpartition(".")[2]
            # Python never calls it: the address of its machine code, which there is none of, is 0.
            key = make_function(
                description.lookup_module(), name, "", 0, environment, (state.library,)
            )
            state.targetctx.insert_user_function(key, description, [state.library])
            state.cr = _LowerResult(description, helper, cfunc=key, env=environment)
            return True

    class _InnerCompiler(CompilerBase):  # type: ignore[misc]
        def define_pipelines(self) -> list[Any]:
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(_UseInnerLibrary, AnnotateTypes)
            passes.add_pass_after(_LetOthersCall, NativeLowering)
            passes.finalize()
            return [passes]

    INNER_COMPILER = _InnerCompiler
