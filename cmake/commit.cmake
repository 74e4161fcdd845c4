# Writes the commit of SOURCE into the header OUT.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define FARO_COMMIT \"@commit@\"\n" @ONLY)
