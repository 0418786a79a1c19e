# Registers test programs. In most builds each test is a process of its own, so that no test depends
# on another.
#
# A sanitized program takes 0.2 to 0.4 s to start, longer than most tests. There the tests run
# together, in shards: every fourth test in one process, as GoogleTest assigns them. This also shows
# side effects between tests.
#
# -DASHLAR_SHARDS_OF_<program>=N registers only the first N shards of a program; 0 registers none.
# The target registered_tests builds all programs with registered tests.
include(GoogleTest)
set(ASHLAR_SHARDS 4)
add_custom_target(registered_tests)
# Programs for the inner loop, `ctest -L quick`: under a minute on two cores.
set(ASHLAR_QUICK_TESTS codegen_test graph_test graph_passes_test graph_tiling_test library_opened_test memory_test opr_test
                       quantization_test runtime_device_test runtime_mcu_test runtime_measure_test runtime_plan_test
                       runtime_schedule_test serialization_test serialization_native_test training_test)

# Registers the tests of a program, with a prefix if several programs have the same tests.
function(ashlar_register_tests program)
  cmake_parse_arguments(register "" "PREFIX" "" ${ARGN})
  if(NOT DEFINED ASHLAR_SHARDS_OF_${program} OR ASHLAR_SHARDS_OF_${program} GREATER 0)
    add_dependencies(registered_tests ${program})
  endif()
  if(NOT ASHLAR_SANITIZE)
    set(labels COST 1)  # long tests begin first, so that no processor waits for the last one
    if(program IN_LIST ASHLAR_QUICK_TESTS)
      set(labels LABELS quick)
    endif()
    gtest_discover_tests(${program} TEST_PREFIX "${register_PREFIX}" NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES ${labels})
    return()
  endif()
  foreach(shard RANGE 1 ${ASHLAR_SHARDS})
    if(DEFINED ASHLAR_SHARDS_OF_${program} AND shard GREATER ASHLAR_SHARDS_OF_${program})
      break()
    endif()
    set(test ${program}_${shard}_of_${ASHLAR_SHARDS})
    add_test(NAME ${test} COMMAND ${program})
    math(EXPR index "${shard} - 1")
    set_tests_properties(${test} PROPERTIES ENVIRONMENT
                         "GTEST_TOTAL_SHARDS=${ASHLAR_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
