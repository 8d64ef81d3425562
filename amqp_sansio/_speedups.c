/* amqp_sansio._speedups: octets in, plain Python values out, where the pure text does the same in more steps.

   Nothing here knows a rule, a state or a class of the package. The pure text of each function is the reference, and
   stands beside its caller; tests/core/test_compiled.py compares the two. Each function takes values that never change, reads no
   octet outside of them, and keeps nothing between calls, so it needs no lock. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

/* Stores a new reference, or goes to `fail` with the exception that making it has raised. */
#define PUT(tuple, index, value)                     \
    do {                                             \
        PyObject *item_ = (value);                   \
        if (item_ == NULL) {                         \
            goto fail;                               \
        }                                            \
        PyTuple_SET_ITEM((tuple), (index), item_);   \
    } while (0)

static inline uint32_t
read_u16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | (uint32_t)at[1];
}

static inline uint32_t
read_u32(const unsigned char *at)
{
    return read_u16(at) << 16 | read_u16(at + 2);
}

static inline uint64_t
read_u64(const unsigned char *at)
{
    return (uint64_t)read_u32(at) << 32 | (uint64_t)read_u32(at + 4);
}

/* Whether a function has as many arguments as it takes; else with a TypeError. */
static int
takes(const char *name, Py_ssize_t count, Py_ssize_t nargs)
{
    if (nargs == count) {
        return 1;
    }
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", name, count, nargs);
    return 0;
}

/* Whether what a function is to read is bytes; else with a TypeError. */
static int
reads(const char *name, PyObject *octets)
{
    if (PyBytes_Check(octets)) {
        return 1;
    }
    PyErr_Format(PyExc_TypeError, "%s reads bytes, not %.100s", name, Py_TYPE(octets)->tp_name);
    return 0;
}

/* The integer as 64 bits, the nearest of them where it has more. Returns -1 with an exception for what is none. */
static int
bound_of(PyObject *value, int64_t *bound)
{
    int overflow = 0;
    long long found = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (found == -1 && overflow == 0 && PyErr_Occurred()) {
        return -1;
    }
    *bound = overflow > 0 ? INT64_MAX : overflow < 0 ? INT64_MIN : (int64_t)found;
    return 0;
}

/* The text of `count` octets of UTF-8, as a new reference; `known`, if it isn't NULL, where it is the same text.
   Returns 1; 0 without an exception where the octets are no UTF-8; -1 with an exception. */
static int
text_of(const unsigned char *octets, Py_ssize_t count, PyObject *known, PyObject **text)
{
    if (known != NULL) {
        Py_ssize_t size = 0;
        const char *same = PyUnicode_AsUTF8AndSize(known, &size);
        if (same == NULL) {
            return -1;
        }
        if (size == count && memcmp(same, octets, (size_t)count) == 0) {
            *text = Py_NewRef(known);
            return 1;
        }
    }
    *text = PyUnicode_DecodeUTF8((const char *)octets, count, NULL);
    if (*text != NULL) {
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* The units of 0-8 and 0-9-1 */

enum {
    FRAME_METHOD = 1,
    FRAME_HEADER = 2,
    FRAME_BODY = 3,
    FRAME_END = 0xCE,
    OVERHEAD = 8,
    /* Where the last octet of the method's id stands in a method frame. */
    ID_END = 10,
    CLASS_BASIC = 60,
    PUBLISH = 40,
    DELIVER = 60,
    ACK = 80,
    ACK_SIZE = 13,
    SHORTEST_HEADER = 14,
    /* A body above so many octets isn't waited for. */
    GATHERED = 1024,
    /* Octets between the payload of the method and the properties: an end octet, the begin of the header's frame,
       class, weight and size of the body. */
    BETWEEN = 20,
};

/* What was read of a method that brings content, and of the content behind it. */
struct content {
    const unsigned char *data;
    Py_ssize_t length;
    int64_t body_max;
    int64_t other_max;
    uint32_t number;
    Py_ssize_t raw;
    Py_ssize_t raw_end;
    Py_ssize_t body;
    uint64_t size;
    Py_ssize_t end;
};

/* Finds the content behind a method's payload, which ends at `stop`, within the octets. Returns whether it is the
   usual one: a header of the same channel, and no body or one frame of it. `later` allows that a large body hasn't
   come; then `body` is -1. */
static int
find_content(struct content *it, Py_ssize_t stop, int later)
{
    const unsigned char *data = it->data;
    if (it->length - stop < BETWEEN + 1) {
        return 0;
    }
    uint32_t header = read_u32(data + stop + 4);
    if (data[stop] != FRAME_END || data[stop + 1] != FRAME_HEADER || read_u16(data + stop + 2) != it->number
        || read_u32(data + stop + 8) != (uint32_t)CLASS_BASIC << 16 || header < SHORTEST_HEADER
        || (int64_t)header > it->other_max) {
        return 0;
    }
    it->size = read_u64(data + stop + 12);
    it->raw = stop + BETWEEN;
    if ((uint64_t)(it->length - it->raw) <= (uint64_t)header - 12) {
        return 0;
    }
    Py_ssize_t last = it->raw + (Py_ssize_t)(header - 12);
    it->raw_end = last;
    it->body = last;
    if (it->size != 0) {
        Py_ssize_t left = it->length - last - OVERHEAD;
        if (left > 0 && it->size < (uint64_t)left) {
            /* The end octet of the header's frame is read at the body's, as those of the frame that begins there. */
            if (data[last + 1] != FRAME_BODY || read_u16(data + last + 2) != it->number
                || read_u32(data + last + 4) != it->size || (int64_t)it->size > it->body_max
                || data[last] != FRAME_END) {
                return 0;
            }
            it->body = last + OVERHEAD;
            last = it->body + (Py_ssize_t)it->size;
        }
        else if (later && it->size > GATHERED) {
            it->body = -1;
        }
        else {
            return 0;
        }
    }
    it->end = last + 1;
    return data[last] == FRAME_END;
}

static PyObject *
octets_of(const struct content *it, Py_ssize_t start, Py_ssize_t stop)
{
    return PyBytes_FromStringAndSize((const char *)it->data + start, stop - start);
}

static PyObject *
body_of(const struct content *it)
{
    return it->body < 0 ? Py_NewRef(Py_None) : octets_of(it, it->body, it->body + (Py_ssize_t)it->size);
}

/* Whether `known` is a tuple of four items with strings from `first` up to `stop`. */
static int
has_texts(PyObject *known, Py_ssize_t first, Py_ssize_t stop)
{
    if (!PyTuple_CheckExact(known) || PyTuple_GET_SIZE(known) != 4) {
        return 0;
    }
    for (Py_ssize_t index = first; index < stop; index++) {
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(known, index))) {
            return 0;
        }
    }
    return 1;
}

static PyObject *
read_deliver(struct content *it, Py_ssize_t pos, uint32_t size, PyObject *known)
{
    const unsigned char *data = it->data;
    Py_ssize_t stop = pos + 7 + (Py_ssize_t)size;
    PyObject *channel = NULL;
    PyObject *names[3] = {NULL, NULL, NULL};
    PyObject *found = NULL;
    PyObject *unit = NULL;
    Py_ssize_t at[3];
    Py_ssize_t counts[3];
    Py_ssize_t next = pos + 11;
    uint64_t tag = 0;
    unsigned char redelivered = 0;
    for (int index = 0; index < 3; index++) {
        if (next >= stop) {
            Py_RETURN_NONE;
        }
        at[index] = next + 1;
        counts[index] = data[next];
        next += 1 + counts[index];
        if (index == 0) {
            if (stop - next < 9) {
                Py_RETURN_NONE;
            }
            tag = read_u64(data + next);
            redelivered = data[next + 8];
            next += 9;
        }
    }
    if (next != stop || redelivered > 1 || !find_content(it, stop, 1)) {
        Py_RETURN_NONE;
    }
    channel = PyLong_FromUnsignedLong(it->number);
    if (channel == NULL) {
        return NULL;
    }
    int same = has_texts(known, 1, 4);
    int all = 0;
    if (same) {
        all = PyObject_RichCompareBool(PyTuple_GET_ITEM(known, 0), channel, Py_EQ);
        if (all < 0) {
            goto done;
        }
    }
    for (int index = 0; index < 3; index++) {
        PyObject *before = same ? PyTuple_GET_ITEM(known, index + 1) : NULL;
        int status = text_of(data + at[index], counts[index], before, &names[index]);
        if (status <= 0) {
            if (status == 0) {
                unit = Py_NewRef(Py_None);
            }
            goto done;
        }
        all = all && names[index] == before;
    }
    found = all ? Py_NewRef(known) : PyTuple_Pack(4, channel, names[0], names[1], names[2]);
    if (found == NULL) {
        goto done;
    }
    unit = PyTuple_New(8);
    if (unit == NULL) {
        goto done;
    }
    PUT(unit, 0, PyLong_FromLong(DELIVER));
    PUT(unit, 1, Py_NewRef(found));
    PUT(unit, 2, PyLong_FromUnsignedLongLong(tag));
    PUT(unit, 3, PyBool_FromLong(redelivered));
    PUT(unit, 4, octets_of(it, it->raw, it->raw_end));
    PUT(unit, 5, body_of(it));
    PUT(unit, 6, PyLong_FromUnsignedLongLong(it->size));
    PUT(unit, 7, PyLong_FromSsize_t(it->end));
    goto done;
fail:
    Py_CLEAR(unit);
done:
    Py_XDECREF(found);
    Py_DECREF(channel);
    Py_XDECREF(names[0]);
    Py_XDECREF(names[1]);
    Py_XDECREF(names[2]);
    return unit;
}

static PyObject *
read_publish(struct content *it, Py_ssize_t pos, uint32_t size, PyObject *known)
{
    const unsigned char *data = it->data;
    Py_ssize_t stop = pos + 7 + (Py_ssize_t)size;
    PyObject *names[2] = {NULL, NULL};
    PyObject *route = NULL;
    PyObject *unit = NULL;
    Py_ssize_t at[2];
    Py_ssize_t counts[2];
    Py_ssize_t next = pos + 13;
    for (int index = 0; index < 2; index++) {
        if (next >= stop) {
            Py_RETURN_NONE;
        }
        at[index] = next + 1;
        counts[index] = data[next];
        next += 1 + counts[index];
    }
    if (next + 1 != stop || data[pos + 11] != 0 || data[pos + 12] != 0 || data[next] > 3 || !find_content(it, stop, 0)) {
        Py_RETURN_NONE;
    }
    PyObject *mandatory = data[next] & 1 ? Py_True : Py_False;
    PyObject *immediate = data[next] & 2 ? Py_True : Py_False;
    int same = has_texts(known, 0, 2);
    int all = same && PyTuple_GET_ITEM(known, 2) == mandatory && PyTuple_GET_ITEM(known, 3) == immediate;
    for (int index = 0; index < 2; index++) {
        PyObject *before = same ? PyTuple_GET_ITEM(known, index) : NULL;
        int status = text_of(data + at[index], counts[index], before, &names[index]);
        if (status <= 0) {
            if (status == 0) {
                unit = Py_NewRef(Py_None);
            }
            goto done;
        }
        all = all && names[index] == before;
    }
    route = all ? Py_NewRef(known) : PyTuple_Pack(4, names[0], names[1], mandatory, immediate);
    if (route == NULL) {
        goto done;
    }
    unit = PyTuple_New(6);
    if (unit == NULL) {
        goto done;
    }
    PUT(unit, 0, PyLong_FromLong(PUBLISH));
    PUT(unit, 1, PyLong_FromUnsignedLong(it->number));
    PUT(unit, 2, Py_NewRef(route));
    PUT(unit, 3, octets_of(it, it->raw, it->raw_end));
    PUT(unit, 4, body_of(it));
    PUT(unit, 5, PyLong_FromSsize_t(it->end));
    goto done;
fail:
    Py_CLEAR(unit);
done:
    Py_XDECREF(route);
    Py_XDECREF(names[0]);
    Py_XDECREF(names[1]);
    return unit;
}

static PyObject *
read_ack(const unsigned char *at, Py_ssize_t left, Py_ssize_t pos)
{
    if (left < ACK_SIZE + OVERHEAD || read_u32(at + 3) != ACK_SIZE
        || read_u32(at + 7) != ((uint32_t)CLASS_BASIC << 16 | ACK) || at[19] > 1 || at[20] != FRAME_END) {
        Py_RETURN_NONE;
    }
    PyObject *unit = PyTuple_New(5);
    if (unit == NULL) {
        return NULL;
    }
    PUT(unit, 0, PyLong_FromLong(ACK));
    PUT(unit, 1, PyLong_FromUnsignedLong(read_u16(at + 1)));
    PUT(unit, 2, PyLong_FromUnsignedLongLong(read_u64(at + 11)));
    PUT(unit, 3, PyBool_FromLong(at[19]));
    PUT(unit, 4, PyLong_FromSsize_t(pos + ACK_SIZE + OVERHEAD));
    return unit;
fail:
    Py_DECREF(unit);
    return NULL;
}

static PyObject *
read_body(const unsigned char *at)
{
    PyObject *unit = PyTuple_New(3);
    if (unit == NULL) {
        return NULL;
    }
    PUT(unit, 0, PyLong_FromLong(FRAME_BODY));
    PUT(unit, 1, PyLong_FromUnsignedLong(read_u16(at + 1)));
    PUT(unit, 2, PyLong_FromUnsignedLong(read_u32(at + 3)));
    return unit;
fail:
    Py_DECREF(unit);
    return NULL;
}

PyDoc_STRVAR(scan_content_doc,
"scan_content(data, pos, body_max, other_max, names, /)\n"
"--\n"
"\n"
"The usual unit of 0-8 or 0-9-1 at `pos` as a tuple that begins with its kind; None where there is none.\n"
"\n"
"60, deliver: (channel, consumer tag, exchange, routing key), delivery tag, redelivered, the octets of the properties,\n"
"the body, None where it hasn't come, its size, where the unit ends. 40, publish: channel, (exchange, routing key,\n"
"mandatory, immediate), the octets of the properties, the body, where the unit ends. 80, ack: channel, tag, multiple,\n"
"where the unit ends. 3, the begin of a body frame: channel, size.\n"
"`names` may be the inner tuple of another unit: what both have in common isn't made again. Raises TypeError,\n"
"ValueError and OverflowError for arguments of other types or a place below 0.");

static PyObject *
scan_content(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes("scan_content", 5, nargs) || !reads("scan_content", args[0])) {
        return NULL;
    }
    Py_ssize_t pos = PyLong_AsSsize_t(args[1]);
    if (pos == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (pos < 0) {
        PyErr_Format(PyExc_ValueError, "scan_content reads from 0 on, not from %zd", pos);
        return NULL;
    }
    struct content it = {.data = (const unsigned char *)PyBytes_AS_STRING(args[0]), .length = PyBytes_GET_SIZE(args[0])};
    if (bound_of(args[2], &it.body_max) < 0 || bound_of(args[3], &it.other_max) < 0) {
        return NULL;
    }
    if (pos >= it.length || it.length - pos <= ID_END) {
        Py_RETURN_NONE;
    }
    const unsigned char *at = it.data + pos;
    Py_ssize_t left = it.length - pos;
    if (at[0] == FRAME_BODY) {
        return read_body(at);
    }
    if (at[0] != FRAME_METHOD) {
        Py_RETURN_NONE;
    }
    uint32_t method = read_u32(at + 7);
    uint32_t size = read_u32(at + 3);
    if (method == ((uint32_t)CLASS_BASIC << 16 | ACK)) {
        return read_ack(at, left, pos);
    }
    /* The whole method has to be there: whatever is read of it lies in front of its end. */
    if ((int64_t)size > it.other_max || (uint64_t)left < (uint64_t)size + OVERHEAD) {
        Py_RETURN_NONE;
    }
    it.number = read_u16(at + 1);
    if (method == ((uint32_t)CLASS_BASIC << 16 | DELIVER)) {
        return read_deliver(&it, pos, size, args[4]);
    }
    if (method == ((uint32_t)CLASS_BASIC << 16 | PUBLISH)) {
        return read_publish(&it, pos, size, args[4]);
    }
    Py_RETURN_NONE;
}

/* The field tables of 0-8 and 0-9-1 */

enum {
    /* The deepest nesting that is read, whatever is asked for: each level is a call. */
    DEEPEST = 128,
};

struct table {
    const unsigned char *data;
    int first_wins;
    int l_is_unsigned;
    int s_is_string;
    int64_t entries;
    int64_t depth;
    PyObject *rules;
    PyObject *make;
    PyObject *timestamp;
};

static int read_fields(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **values);
static int read_items(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **values);

/* The table between `pos` and `end` as `make` makes it. Returns as `read_value`. */
static int
read_table(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **value)
{
    PyObject *values = NULL;
    int status = read_fields(it, pos, end, level, &values);
    if (status <= 0) {
        return status;
    }
    PyObject *raw = PyBytes_FromStringAndSize((const char *)it->data + pos, end - pos);
    if (raw == NULL) {
        Py_DECREF(values);
        return -1;
    }
    *value = PyObject_CallFunctionObjArgs(it->make, raw, it->rules, values, NULL);
    Py_DECREF(raw);
    Py_DECREF(values);
    return *value == NULL ? -1 : 1;
}

static int
read_timestamp(const struct table *it, uint64_t seconds, PyObject **value)
{
    PyObject *number = PyLong_FromUnsignedLongLong(seconds);
    if (number == NULL) {
        return -1;
    }
    *value = PyObject_CallOneArg(it->timestamp, number);
    Py_DECREF(number);
    return *value == NULL ? -1 : 1;
}

static PyObject *
float_of(const unsigned char *at, int size)
{
    double found = size == 4 ? PyFloat_Unpack4((const char *)at, 0) : PyFloat_Unpack8((const char *)at, 0);
    if (found == -1.0 && PyErr_Occurred()) {
        return NULL;
    }
    return PyFloat_FromDouble(found);
}

static PyObject *
signed_of(const unsigned char *at)
{
    uint64_t octets = read_u64(at);
    int64_t number;
    memcpy(&number, &octets, sizeof number);
    return PyLong_FromLongLong(number);
}

/* The value whose tag stands at `*pos`, in front of `end`, and `*pos` behind it. Returns 1 with a new reference; 0
   without an exception for what isn't usual, or not whole; -1 with an exception. */
static int
read_value(const struct table *it, Py_ssize_t *pos, Py_ssize_t end, int level, PyObject **value)
{
    const unsigned char *data = it->data;
    unsigned char tag = data[*pos];
    Py_ssize_t at = *pos + 1;
    uint64_t size = 0;
    switch (tag) {
    case 'V':
        break;
    case 't':
    case 'b':
    case 'B':
        size = 1;
        break;
    case 's':
        if (it->s_is_string && at >= end) {
            return 0;
        }
        size = it->s_is_string ? 1 + (uint64_t)data[at] : 2;
        break;
    case 'U':
    case 'u':
        size = 2;
        break;
    case 'I':
    case 'i':
    case 'f':
        size = 4;
        break;
    case 'l':
    case 'L':
    case 'd':
    case 'T':
        size = 8;
        break;
    case 'S':
    case 'x':
    case 'F':
    case 'A':
        if (end - at < 4) {
            return 0;
        }
        size = 4 + (uint64_t)read_u32(data + at);
        break;
    default:
        return 0;
    }
    if (size > (uint64_t)(end - at)) {
        return 0;
    }
    const unsigned char *here = data + at;
    Py_ssize_t stop = at + (Py_ssize_t)size;
    *pos = stop;
    switch (tag) {
    case 'S':
        return text_of(here + 4, stop - at - 4, NULL, value);
    case 'F':
        return read_table(it, at + 4, stop, level + 1, value);
    case 'A':
        return read_items(it, at + 4, stop, level + 1, value);
    case 'T':
        return read_timestamp(it, read_u64(here), value);
    case 's':
        if (it->s_is_string) {
            return text_of(here + 1, stop - at - 1, NULL, value);
        }
        *value = PyLong_FromLong((long)read_u16(here) - (here[0] & 0x80 ? 0x10000 : 0));
        break;
    case 'U':
        *value = PyLong_FromLong((long)read_u16(here) - (here[0] & 0x80 ? 0x10000 : 0));
        break;
    case 'u':
        *value = PyLong_FromLong((long)read_u16(here));
        break;
    case 'b':
        *value = PyLong_FromLong((long)here[0] - (here[0] & 0x80 ? 0x100 : 0));
        break;
    case 'B':
        *value = PyLong_FromLong((long)here[0]);
        break;
    case 't':
        *value = PyBool_FromLong(here[0]);
        break;
    case 'I':
        *value = PyLong_FromLongLong((long long)read_u32(here) - (here[0] & 0x80 ? 0x100000000LL : 0));
        break;
    case 'i':
        *value = PyLong_FromUnsignedLong(read_u32(here));
        break;
    case 'l':
        *value = it->l_is_unsigned ? PyLong_FromUnsignedLongLong(read_u64(here)) : signed_of(here);
        break;
    case 'L':
        *value = signed_of(here);
        break;
    case 'f':
        *value = float_of(here, 4);
        break;
    case 'd':
        *value = float_of(here, 8);
        break;
    case 'x':
        *value = PyBytes_FromStringAndSize((const char *)here + 4, stop - at - 4);
        break;
    default: /* V */
        *value = Py_NewRef(Py_None);
        break;
    }
    return *value == NULL ? -1 : 1;
}

/* Whether the octets of a table or an array on this level are within the bounds. */
static int
is_bounded(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level)
{
    return (int64_t)(end - pos) <= it->entries && level <= it->depth && level <= DEEPEST;
}

/* The entries between `pos` and `end` as a dict. Returns as `read_value`. */
static int
read_fields(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **values)
{
    if (!is_bounded(it, pos, end, level)) {
        return 0;
    }
    PyObject *found = PyDict_New();
    if (found == NULL) {
        return -1;
    }
    int status = 1;
    while (pos < end) {
        PyObject *name = NULL;
        PyObject *value = NULL;
        Py_ssize_t count = it->data[pos];
        if (end - pos - 1 <= count) {
            status = 0;
            break;
        }
        status = text_of(it->data + pos + 1, count, NULL, &name);
        if (status <= 0) {
            break;
        }
        pos += 1 + count;
        status = read_value(it, &pos, end, level, &value);
        if (status > 0) {
            int there = it->first_wins ? PyDict_Contains(found, name) : 0;
            if (there < 0 || (there == 0 && PyDict_SetItem(found, name, value) < 0)) {
                status = -1;
            }
            Py_DECREF(value);
        }
        Py_DECREF(name);
        if (status <= 0) {
            break;
        }
    }
    if (status <= 0) {
        Py_DECREF(found);
        return status;
    }
    *values = found;
    return 1;
}

/* The values between `pos` and `end` as a list. Returns as `read_value`. */
static int
read_items(const struct table *it, Py_ssize_t pos, Py_ssize_t end, int level, PyObject **values)
{
    if (!is_bounded(it, pos, end, level)) {
        return 0;
    }
    PyObject *found = PyList_New(0);
    if (found == NULL) {
        return -1;
    }
    int status = 1;
    while (pos < end) {
        PyObject *value = NULL;
        status = read_value(it, &pos, end, level, &value);
        if (status > 0) {
            if (PyList_Append(found, value) < 0) {
                status = -1;
            }
            Py_DECREF(value);
        }
        if (status <= 0) {
            Py_DECREF(found);
            return status;
        }
    }
    *values = found;
    return 1;
}

PyDoc_STRVAR(scan_table_doc,
"scan_table(raw, first_wins, l_is_unsigned, s_is_string, entries, depth, rules, make, timestamp, /)\n"
"--\n"
"\n"
"The fields of a table of 0-8 or 0-9-1, without the length in front, as a dict; None for what isn't usual, or wrong.\n"
"\n"
"`first_wins`: of entries with one name the first counts, else the last. `l_is_unsigned`, `s_is_string`: what these\n"
"tags mean. `entries` bounds the octets of a table or an array, `depth` the levels. A table within is what\n"
"make(octets, rules, dict) returns, a timestamp timestamp(seconds). Raises what these raise, TypeError for arguments\n"
"of other types.");

static PyObject *
scan_table(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes("scan_table", 9, nargs) || !reads("scan_table", args[0])) {
        return NULL;
    }
    struct table it = {
        .data = (const unsigned char *)PyBytes_AS_STRING(args[0]),
        .first_wins = args[1] == Py_True,
        .l_is_unsigned = args[2] == Py_True,
        .s_is_string = args[3] == Py_True,
        .rules = args[6],
        .make = args[7],
        .timestamp = args[8],
    };
    if (bound_of(args[4], &it.entries) < 0 || bound_of(args[5], &it.depth) < 0) {
        return NULL;
    }
    PyObject *values = NULL;
    int status = read_fields(&it, 0, PyBytes_GET_SIZE(args[0]), 1, &values);
    if (status == 0) {
        Py_RETURN_NONE;
    }
    return status < 0 ? NULL : values;
}

/* The lists of 1.0 */

enum {
    /* The most octets of a delivery-tag. */
    LONGEST_TAG = 32,
};

/* What the values of a list are read into. The references belong to the caller's tuple. */
struct plan {
    const unsigned char *kinds;
    Py_ssize_t count;
    PyObject *symbols;
    PyObject *symbol;
    PyObject *timestamp;
    PyObject *accepted;
};

/* The symbol of these octets: that of `symbols`, or what `symbol` makes of their text. Returns as `text_of`. */
static int
symbol_of(const struct plan *plan, const unsigned char *octets, Py_ssize_t count, PyObject **value)
{
    PyObject *raw = PyBytes_FromStringAndSize((const char *)octets, count);
    if (raw == NULL) {
        return -1;
    }
    *value = Py_XNewRef(PyDict_GetItemWithError(plan->symbols, raw));
    Py_DECREF(raw);
    if (*value != NULL) {
        return 1;
    }
    if (PyErr_Occurred()) {
        return -1;
    }
    PyObject *text = PyUnicode_DecodeASCII((const char *)octets, count, NULL);
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
            return -1;
        }
        PyErr_Clear();
        return 0;
    }
    *value = PyObject_CallOneArg(plan->symbol, text);
    Py_DECREF(text);
    return *value == NULL ? -1 : 1;
}

/* The value of a field that isn't there, or is null, borrowed; NULL where it is mandatory. */
static PyObject *
absent(unsigned char kind)
{
    return kind == 'U' || kind == 'B' ? NULL : kind == 'f' ? Py_False : Py_None;
}

/* The field whose constructor stands at `*pos`, and `*pos` behind it. Returns as `read_value`. */
static int
read_field(const struct plan *plan, unsigned char kind, const unsigned char *data, Py_ssize_t *pos, Py_ssize_t stop,
           PyObject **value)
{
    /* Octets of data by the constructor's first four bits; an unlisted one is none that any kind takes. */
    static const unsigned char sizes[16] = {[5] = 1, [7] = 4, [8] = 8};
    if (*pos >= stop) {
        return 0;
    }
    unsigned char code = data[*pos];
    Py_ssize_t at = *pos + 1;
    uint64_t size = sizes[code >> 4];
    if (code == 0x40) {
        *pos = at;
        *value = Py_XNewRef(absent(kind));
        return *value != NULL;
    }
    if (code == 0) {
        /* A described value; of these the accepted state alone is usual. */
        size = 3;
    }
    else if (code >> 4 == 0xA) {
        if (at == stop) {
            return 0;
        }
        size = data[at];
        at += 1;
    }
    else if (code >> 4 == 0xB) {
        if (stop - at < 4) {
            return 0;
        }
        size = read_u32(data + at);
        at += 4;
    }
    else if (code == 0x52 || code == 0x53) {
        size = 1;
    }
    if (size > (uint64_t)(stop - at)) {
        return 0;
    }
    const unsigned char *here = data + at;
    Py_ssize_t count = (Py_ssize_t)size;
    *pos = at + count;
    switch (kind) {
    case 'u':
    case 'U':
        if (code != 0x43 && code != 0x52 && code != 0x70) {
            return 0;
        }
        *value = PyLong_FromUnsignedLong(code == 0x43 ? 0 : code == 0x52 ? here[0] : read_u32(here));
        break;
    case 'b':
    case 'B':
    case 'f':
        if (code != 0x41 && code != 0x42 && (code != 0x56 || here[0] > 1)) {
            return 0;
        }
        *value = PyBool_FromLong(code == 0x56 ? here[0] : code == 0x41);
        break;
    case 'm':
        if (code != 0x50 || here[0] > 1) {
            return 0;
        }
        *value = PyLong_FromLong(here[0]);
        break;
    case 'd':
        if (code != 0xA0 || count > LONGEST_TAG) {
            return 0;
        }
        *value = PyBytes_FromStringAndSize((const char *)here, count);
        break;
    case 'a':
        if (code != 0 || here[0] != 0x53 || here[1] != 0x24 || here[2] != 0x45) {
            return 0;
        }
        *value = Py_NewRef(plan->accepted);
        break;
    case 'o':
        if (code != 0xA0 && code != 0xB0) {
            return 0;
        }
        *value = PyBytes_FromStringAndSize((const char *)here, count);
        break;
    case 's':
        return code == 0xA1 || code == 0xB1 ? text_of(here, count, NULL, value) : 0;
    case 'y':
        return code == 0xA3 || code == 0xB3 ? symbol_of(plan, here, count, value) : 0;
    case 't': {
        if (code != 0x83) {
            return 0;
        }
        PyObject *moment = signed_of(here);
        if (moment == NULL) {
            return -1;
        }
        *value = PyObject_CallOneArg(plan->timestamp, moment);
        Py_DECREF(moment);
        break;
    }
    case 'i':
        if (code == 0xA1) {
            return text_of(here, count, NULL, value);
        }
        if (code != 0x53 && code != 0x80 && code != 0xA0) {
            return 0;
        }
        *value = code == 0xA0 ? PyBytes_FromStringAndSize((const char *)here, count)
                              : PyLong_FromUnsignedLongLong(code == 0x53 ? here[0] : read_u64(here));
        break;
    default:
        return 0;
    }
    return *value == NULL ? -1 : 1;
}

/* The octets of a list at `*pos`, in front of `end`: the number of its fields, where they end, and `*pos` at the first.
   Returns whether it is there, and whole. */
static int
open_list(const unsigned char *data, Py_ssize_t *pos, Py_ssize_t end, Py_ssize_t *stop, uint32_t *count)
{
    Py_ssize_t left = end - *pos;
    const unsigned char *at = data + *pos;
    if (left >= 3 && at[0] == 0xC0) {
        *count = at[2];
        *stop = *pos + 2 + at[1];
        *pos += 3;
        return *stop <= end;
    }
    if (left >= 9 && at[0] == 0xD0 && read_u32(at + 1) <= (uint64_t)left - 5) {
        *count = read_u32(at + 5);
        *stop = *pos + 5 + (Py_ssize_t)read_u32(at + 1);
        *pos += 9;
        return 1;
    }
    return 0;
}

PyDoc_STRVAR(scan_list_doc,
"scan_list(data, start, pos, end, plan, /)\n"
"--\n"
"\n"
"The fields of the list of 1.0 at `pos` as a tuple, behind them the octets from `start` to its end, and where it ends.\n"
"None for what isn't usual, or wrong, and for octets that aren't bytes.\n"
"\n"
"`plan`: an octet for each field; symbols by their octets; symbol(text), for those that aren't among these;\n"
"timestamp(milliseconds); what the accepted state is. The octets: u uint, b boolean, f boolean that is False where it\n"
"isn't there, m settle mode, d delivery-tag, a accepted, o binary, s string, y symbol, t timestamp, i message id that is\n"
"no UUID, n null; U and B are mandatory. All others are None where they aren't there.\n"
"Raises what symbol and timestamp raise, TypeError for arguments of other types, OverflowError.");

static PyObject *
scan_list(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes("scan_list", 5, nargs)) {
        return NULL;
    }
    Py_ssize_t places[3];
    for (int index = 0; index < 3; index++) {
        places[index] = PyLong_AsSsize_t(args[index + 1]);
        if (places[index] == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    Py_ssize_t start = places[0];
    Py_ssize_t pos = places[1];
    Py_ssize_t end = places[2];
    PyObject *given = args[4];
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != 5 || !PyBytes_Check(PyTuple_GET_ITEM(given, 0))
        || !PyDict_Check(PyTuple_GET_ITEM(given, 1))) {
        PyErr_Format(PyExc_TypeError, "scan_list's plan is a tuple of 5, bytes and a dict first, not %.100R", given);
        return NULL;
    }
    struct plan plan = {
        .kinds = (const unsigned char *)PyBytes_AS_STRING(PyTuple_GET_ITEM(given, 0)),
        .count = PyBytes_GET_SIZE(PyTuple_GET_ITEM(given, 0)),
        .symbols = PyTuple_GET_ITEM(given, 1),
        .symbol = PyTuple_GET_ITEM(given, 2),
        .timestamp = PyTuple_GET_ITEM(given, 3),
        .accepted = PyTuple_GET_ITEM(given, 4),
    };
    Py_ssize_t stop = 0;
    uint32_t count = 0;
    if (!PyBytes_Check(args[0]) || start < 0 || pos < start || end < pos || end > PyBytes_GET_SIZE(args[0])) {
        Py_RETURN_NONE;
    }
    const unsigned char *data = (const unsigned char *)PyBytes_AS_STRING(args[0]);
    if (!open_list(data, &pos, end, &stop, &count) || count > (uint64_t)plan.count) {
        Py_RETURN_NONE;
    }
    PyObject *found = PyTuple_New(plan.count + 2);
    if (found == NULL) {
        return NULL;
    }
    int status = 1;
    for (Py_ssize_t index = 0; index < plan.count && status > 0; index++) {
        PyObject *value = NULL;
        if (index < (Py_ssize_t)count) {
            status = read_field(&plan, plan.kinds[index], data, &pos, stop, &value);
        }
        else {
            value = Py_XNewRef(absent(plan.kinds[index]));
            status = value != NULL;
        }
        if (status > 0) {
            PyTuple_SET_ITEM(found, index, value);
        }
    }
    if (status < 0) {
        goto fail;
    }
    if (status == 0 || pos != stop) {
        Py_DECREF(found);
        Py_RETURN_NONE;
    }
    PUT(found, plan.count, PyBytes_FromStringAndSize((const char *)data + start, stop - start));
    PUT(found, plan.count + 1, PyLong_FromSsize_t(stop));
    return found;
fail:
    Py_DECREF(found);
    return NULL;
}

static PyMethodDef functions[] = {
    {"scan_content", (PyCFunction)(void (*)(void))scan_content, METH_FASTCALL, scan_content_doc},
    {"scan_list", (PyCFunction)(void (*)(void))scan_list, METH_FASTCALL, scan_list_doc},
    {"scan_table", (PyCFunction)(void (*)(void))scan_table, METH_FASTCALL, scan_table_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "amqp_sansio._speedups",
    .m_doc = "Octets in, plain Python values out: what the pure text does in more steps.",
    .m_size = 0,
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__speedups(void)
{
    return PyModuleDef_Init(&definition);
}
