"""Every public name has a docstring, the stubs say what the module has, and the examples in docstrings hold."""
import ast
import doctest
import inspect
import os
import unittest

import faro
from faro import _agent, _world, account


def stub(name):
    with open(os.path.join(os.path.dirname(faro.__file__), name)) as file:
        return ast.parse(file.read())


def public(module, names):
    """(path, object) of every public function, class, method and property."""
    for name in names:
        thing = getattr(module, name)
        yield name, thing
        if inspect.isclass(thing):
            for member in sorted(set(dir(thing))):
                value = inspect.getattr_static(thing, member)
                if not member.startswith("_") and not hasattr(object, member) and not isinstance(value, (str, int, tuple)):
                    if not (issubclass(thing, BaseException) or hasattr(list, member)):
                        yield "%s.%s" % (name, member), value


MODULES = [(faro, [n for n in faro.__all__ if n != "account"], "__init__.pyi"), (account, account.__all__, "account.pyi")]


class Names(unittest.TestCase):
    def test_every_public_name_has_a_docstring(self):
        for module, names, _ in MODULES:
            self.assertTrue(module.__doc__)
            for path, thing in public(module, names):
                thing = getattr(thing, "__func__", thing)
                with self.subTest(name=path):
                    if not inspect.ismemberdescriptor(thing) and type(thing).__name__ != "memoryview":
                        self.assertTrue(getattr(thing, "__doc__", None), path)

    def test_the_module_itself_has_docstrings(self):
        for name in dir(faro._faro):
            thing = getattr(faro._faro, name)
            if not name.startswith("_") and (callable(thing)):
                self.assertTrue(thing.__doc__, name)

    def test_exceptions_are_of_their_family(self):
        self.assertTrue(issubclass(faro.InvalidError, ValueError) and issubclass(faro.InvalidError, faro.Error))
        self.assertTrue(issubclass(faro.SystemFailure, OSError) and issubclass(faro.OutOfMemoryError, MemoryError))


def parameters(node):
    """The names of a stub function's parameters, in order, without self and cls."""
    a = node.args
    names = [p.arg for p in a.posonlyargs + a.args + ([a.vararg] if a.vararg else []) + a.kwonlyargs]
    names += [a.kwarg.arg] if a.kwarg else []
    return [name for name in names if name not in ("self", "cls")]


class Stubs(unittest.TestCase):
    def declared(self, tree):
        found = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = node
            elif isinstance(node, ast.ClassDef):
                found[node.name] = node
                for member in node.body:
                    if isinstance(member, ast.FunctionDef):
                        found["%s.%s" % (node.name, member.name)] = member
                    elif isinstance(member, ast.AnnAssign):
                        found["%s.%s" % (node.name, member.target.id)] = None
        return found

    def inherited(self, declared, path):
        """The stub of a member, also if a stub's base class has it."""
        kind, _, member = path.partition(".")
        while kind in declared and member and path not in declared:
            bases = [base.id for base in declared[kind].bases if isinstance(base, ast.Name)]
            if not bases:
                break
            kind = bases[0]
            path = "%s.%s" % (kind, member)
        return path

    def test_stubs_have_every_public_name(self):
        for module, names, file in MODULES:
            declared = self.declared(stub(file))
            for path, thing in public(module, names):
                self.assertIn(self.inherited(declared, path), declared, file)

    def test_what_stubs_have_is_there_with_the_same_parameters(self):
        for module, _, file in MODULES:
            for path, node in self.declared(stub(file)).items():
                thing = module
                if path.startswith("_") or path.split(".")[-1] in ("__init__", "__new__", "__getattr__"):
                    continue
                parts = path.split(".")
                if node is None and not hasattr(getattr(module, parts[0]), parts[1]):
                    continue  # set in __init__
                for part in parts:
                    thing = inspect.getattr_static(thing, part) if thing is not module else getattr(thing, part)
                thing = getattr(thing, "__func__", thing)
                if isinstance(node, ast.FunctionDef) and callable(thing):
                    real = [p for p in inspect.signature(thing).parameters if p not in ("self", "cls")]
                    self.assertEqual(parameters(node), real, path)

    def test_the_arguments_of_agent_are_those_of_the_stub(self):
        with self.assertRaises(TypeError) as caught:
            faro.Agent(learner="uniform", release="none", seed=1, nothing=1)
        takes = set(str(caught.exception).split("it takes ")[1].split(", "))
        told = set(parameters(self.declared(stub("__init__.pyi"))["Agent.__new__"])) - {"settings"}
        self.assertEqual(takes, told)
        for name in takes:  # and each is explained
            self.assertIn(name, faro.Agent.__doc__)


def load_tests(loader, tests, pattern):
    for module in account, _agent, _world:
        tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    unittest.main()
