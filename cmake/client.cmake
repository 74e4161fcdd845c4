# The sources of the client's part: it needs libsodium and the C library alone. CLIENT_SOURCES; FARO_ROOT is this repository.
# linalg/dense_plain.c, plain loops for small designs, belongs to it too, but libfaro may have BLAS in its place.
file(GLOB CLIENT_SOURCES CONFIGURE_DEPENDS ${FARO_ROOT}/src/base/*.c ${FARO_ROOT}/src/field/*.c ${FARO_ROOT}/src/random/*.c
     ${FARO_ROOT}/src/statistics/*.c ${FARO_ROOT}/src/privacy/*.c ${FARO_ROOT}/src/release/*.c ${FARO_ROOT}/src/release/kinds/*.c
     ${FARO_ROOT}/src/policy/*.c ${FARO_ROOT}/src/choice/*.c ${FARO_ROOT}/src/wire/*.c ${FARO_ROOT}/src/client/*.c
     ${FARO_ROOT}/src/explore/*.c ${FARO_ROOT}/src/glm/link.c ${FARO_ROOT}/src/glm/lanes.c ${FARO_ROOT}/src/design/*.c ${FARO_ROOT}/src/linalg/*.c)
list(FILTER CLIENT_SOURCES EXCLUDE REGEX "linalg/(dense_(blas|plain)|eigen).c|design/points.c")
