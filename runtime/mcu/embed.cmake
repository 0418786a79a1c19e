# Writes the sources of FOLDER as texts in C++, for CodeText of code_text.h:
#   cmake -DFOLDER=c99 -DOUTPUT=code_texts.cc -P embed.cmake
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.c ${FOLDER}/*.h)
set(rows "")
foreach(name IN LISTS files)
  file(READ ${FOLDER}/${name} text)
  string(APPEND rows "    {\"${name}\", R\"c99(${text})c99\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"runtime/mcu/code_text.h\"\nnamespace ashlar::mcu {\n"
     "const CodeText kCodeTexts[] = {\n${rows}};\n"
     "const size_t kNumCodeTexts = sizeof(kCodeTexts) / sizeof(kCodeTexts[0]);\n}  // namespace ashlar::mcu\n")
