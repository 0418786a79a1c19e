# Precompiled headers: external headers that most files include, parsed once instead of in every
# file. Files of the command compile in 0.5 to 0.7 of the time, small library files in 0.6. Each set
# is compiled by a target of its own. A file still includes everything it uses: with
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON (preset dev) nothing here is compiled.
set(ASHLAR_CORE_HEADERS
    <algorithm> <cstdint> <functional> <map> <memory> <optional> <string> <unordered_map> <utility> <vector>
    <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/types/span.h>)
set(ASHLAR_DOCUMENT_HEADERS ${ASHLAR_CORE_HEADERS} <absl/strings/str_format.h> <nlohmann/json.hpp>)

# Defines a named set of headers, for ashlar_precompiled.
function(ashlar_header_set name)
  cmake_parse_arguments(set "" "" "HEADERS;LIBRARIES;OPTIONS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/cmake/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Compiled for its headers.\n")
  add_library(${name} OBJECT ${source})
  target_precompile_headers(${name} PRIVATE ${set_HEADERS})
  target_link_libraries(${name} PRIVATE ${set_LIBRARIES})
  target_compile_options(${name} PRIVATE ${set_OPTIONS})
endfunction()

# Gives a target the headers of a set. The target's options must be the set's, except for the
# optimisation level.
function(ashlar_precompiled target set)
  target_precompile_headers(${target} REUSE_FROM ${set})
endfunction()

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # for ccache
endif()
ashlar_header_set(ashlar_core_headers HEADERS ${ASHLAR_CORE_HEADERS} LIBRARIES absl::status)
ashlar_header_set(ashlar_document_headers HEADERS ${ASHLAR_DOCUMENT_HEADERS}
                  LIBRARIES absl::status nlohmann_json::nlohmann_json)
ashlar_header_set(ashlar_command_headers HEADERS ${ASHLAR_DOCUMENT_HEADERS} <CLI/App.hpp>
                  LIBRARIES absl::status nlohmann_json::nlohmann_json CLI11::CLI11)
# Tests and benchmarks are compiled as executables, everything else so that it can be linked into a
# shared library.
function(ashlar_program_header_set name)
  ashlar_header_set(${name} HEADERS ${ASHLAR_DOCUMENT_HEADERS} <gmock/gmock.h> <gtest/gtest.h>
                    LIBRARIES absl::status nlohmann_json::nlohmann_json GTest::gmock OPTIONS -fPIE ${ARGN})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()
ashlar_program_header_set(ashlar_program_headers)
# Headers that were optimised are of no use without optimisation.
if(CMAKE_BUILD_TYPE STREQUAL Release)
  ashlar_program_header_set(ashlar_idle_headers -O0)
endif()

# Gives an executable these headers.
function(ashlar_program target)
  ashlar_precompiled(${target} ashlar_program_headers)
  target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
  ashlar_cold(${target})
endfunction()
# The same for a program of tests that start other programs, or take no time. It is not optimised, unless it is sanitized,
# and compiles a fifth to two fifths faster. Other programs must not be: the linker takes their copies of inline functions
# for the libraries, too, which then take twice the time.
function(ashlar_idle_program target)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    ashlar_precompiled(${target} ashlar_idle_headers)
    target_compile_options(${target} PRIVATE -O0 $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
  else()
    ashlar_program(${target})
  endif()
endfunction()
# The same for a library that only executables link: it is compiled as they are.
function(ashlar_part_of_programs target)
  ashlar_program(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIE)
endfunction()
