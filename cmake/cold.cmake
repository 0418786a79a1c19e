# For code that a model's run spends no time in: readers, writers, reports, tests. Most code of a
# release build is of this kind; it compiles a fifth to a third faster and is smaller. Sanitized, it
# calls functions that check its accesses: inline checks take a fifth of the compile time.
function(ashlar_cold)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    if(ASHLAR_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE --param=asan-instrumentation-with-call-threshold=0)
    endif()
  endforeach()
endfunction()

# For code that loading and planning run, but not a model's run: a tenth smaller than at -O3.
function(ashlar_compact)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  endforeach()
endfunction()

# For code that the shared library needs only in part: it drops unreferenced sections
# (-Wl,--gc-sections).
function(ashlar_droppable)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  endforeach()
endfunction()
