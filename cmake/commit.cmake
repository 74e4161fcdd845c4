# Writes the commit of SOURCE and its date into the header OUT.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
execute_process(COMMAND git log -1 --format=%cs WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT date)
  string(TIMESTAMP date "%Y-%m-%d" UTC) # honours SOURCE_DATE_EPOCH
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define FARO_COMMIT \"@commit@\"\n#define FARO_DATE \"@date@\"\n" @ONLY)
