# Writes the bytes of IN into OUT, as the inside of an array in C.
cmake_minimum_required(VERSION 3.25)
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "${bytes}\n")
