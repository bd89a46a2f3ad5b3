"""Compilation of functions that only compiled functions call.

Numba optimises every function together with all functions that it calls, generates machine code for
it, and does the same again for its caller, at every level of the call tree. For an inner function
this work is wasted: only the machine code of the outermost function runs. So here the compilation
of an inner function stops at LLVM code, and the outermost function is optimised as a whole. This
halves the time to compile.

The passes are added in the way that numba documents, but they use internals of numba that may
change. If one of these is missing, `INNER_COMPILER` has no value and inner functions are compiled
like all others.
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
        """LLVM code to link into the code of the callers, without machine code."""

        def finalize(self) -> None:
            """Link the functions that this one calls."""
            for library in dict.fromkeys(self._linking_libraries):
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalized = True

    @register_pass(mutates_CFG=False, analysis_only=False)
    class _UseInnerLibrary(LoweringPass):  # type: ignore[misc]
        """Before lowering: use a library that stays LLVM code."""

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
        """After lowering: register the function, so that its callers can be lowered."""

        _name = "let_others_call"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            description, helper, _, environment = state.cr
            name = description.qualname.rpartition(".")[2]
            # Numba looks the function up by this object. The address 0 is never called.
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
