# Joins the page's sources into one C++ string:
#  cmake -DFOLDER=page -DSCRIPTS=a.js,b.js -DOUTPUT=page.cc -P embed.cmake
# Removes indentation and comment lines.
function(read_source name variable)
  file(READ ${FOLDER}/${name} text)
  string(REGEX REPLACE "(^|\n) *//[^\n]*" "\\1" text "${text}")
  string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

read_source(page.html page)
read_source(style.css style)
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
set(script "")
foreach(name IN LISTS SCRIPTS)
  read_source(${name} text)
  string(APPEND script "${text}")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
file(WRITE ${OUTPUT} "#include <cstddef>\nnamespace ashlar {\nextern const char kPlanPageTemplate[];\n"
     "extern const size_t kPlanPageTemplateBytes;\nconst char kPlanPageTemplate[] = R\"page(${page})page\";\n"
     "const size_t kPlanPageTemplateBytes = sizeof kPlanPageTemplate - 1;\n}  // namespace ashlar\n")
