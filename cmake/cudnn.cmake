# Finds cuDNN's headers of a sufficient version: plans without a device are described by attributes
# that came with 9.8.
set(ASHLAR_LEAST_CUDNN 90800)

# Returns CUDNN_VERSION of the headers in a folder, as one number; 0 if there are none.
function(ashlar_cudnn_version folder result)
  set(version 0)
  if(EXISTS ${folder}/cudnn_version.h)
    foreach(part MAJOR MINOR PATCHLEVEL)
      file(STRINGS ${folder}/cudnn_version.h line REGEX "^#define CUDNN_${part} +[0-9]+")
      string(REGEX REPLACE "^#define CUDNN_${part} +([0-9]+).*" "\\1" ${part} "${line}")
    endforeach()
    math(EXPR version "${MAJOR} * 10000 + ${MINOR} * 100 + ${PATCHLEVEL}")
  endif()
  set(${result} ${version} PARENT_SCOPE)
endfunction()

# Sets CUDNN_INCLUDE_DIR. If the headers are too old, sets CUDNN_TOO_OLD to the message.
macro(ashlar_find_cudnn)
  find_path(CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  set(CUDNN_TOO_OLD "")
  ashlar_cudnn_version("${CUDNN_INCLUDE_DIR}" cudnn_found)
  if(CUDNN_INCLUDE_DIR AND cudnn_found LESS ASHLAR_LEAST_CUDNN)
    set(CUDNN_TOO_OLD "cuDNN in ${CUDNN_INCLUDE_DIR} is ${cudnn_found}, ${ASHLAR_LEAST_CUDNN} (9.8) is needed")
  endif()
endmacro()
