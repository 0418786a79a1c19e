# Code in which a model's run spends no time: readers, writers, reports, tests. Most of what a release compiles is such
# code, a fifth to a third faster so, and smaller.
function(ashlar_cold)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endforeach()
endfunction()

# Code that loading and planning run, and no run of a model: a tenth smaller than at -O3.
function(ashlar_compact)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  endforeach()
endfunction()

# Code of which the shared library, which drops what nothing refers to (-Wl,--gc-sections), needs a part.
function(ashlar_droppable)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  endforeach()
endfunction()
