"""The documents the server publishes about itself, against the fact table of the contract."""

import pytest

from contract import definitions, operations, parameters, properties
from muster import BASE_PATH

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def openapi(api):
    return api.get("//openapi.json").json()


@pytest.fixture(scope="module")
def swagger(api):
    return api.get("//swagger.json").json()


def published(document):
    """operation id → (method, path below the base, operation object)."""
    found = {}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                found[operation["operationId"]] = (method, path.removeprefix(BASE_PATH), operation)
    return found


def resolve(document, thing):
    while "$ref" in thing:
        target = document
        for part in thing["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        thing = target
    return thing


def members(document, schema):
    """All property names of a schema, through references and allOf."""
    schema = resolve(document, schema)
    names = set(schema.get("properties", {}))
    for part in schema.get("allOf", []):
        names |= members(document, part)
    return names


def reference_operations(document):
    """The operations below the compatible base; Muster's own ones are not our concern here."""
    known = {operation.id for operation in operations()}
    return {name: value for name, value in published(document).items() if name in known}


@pytest.mark.parametrize("kind", ["openapi", "swagger"])
def test_every_operation_is_published_with_its_method_and_path(kind, request):
    document = request.getfixturevalue(kind)
    found = reference_operations(document)
    wanted = {operation.id: (operation.method, operation.path) for operation in operations()}
    assert len(wanted) == 81
    assert {name: value[:2] for name, value in found.items()} == wanted


def test_every_parameter_is_published(openapi):
    found = published(openapi)
    missing = []
    for operation_id, name, place, required in parameters():
        operation = found[operation_id][2]
        if place == "body":
            content = resolve(openapi, operation["requestBody"])["content"]
            ok = "application/json" in content
        elif place == "formData":
            content = resolve(openapi, operation["requestBody"])["content"]
            ok = name in members(openapi, content["multipart/form-data"]["schema"])
        else:
            listed = [resolve(openapi, item) for item in operation.get("parameters", [])]
            ok = any(
                (item["name"], item["in"], item.get("required", False)) == (name, place, required) for item in listed
            )
        if not ok:
            missing.append((operation_id, name, place, required))
    assert not missing


def test_every_parameter_is_in_the_swagger_document(swagger):
    found = published(swagger)
    missing = []
    for operation_id, name, place, required in parameters():
        listed = [resolve(swagger, item) for item in found[operation_id][2].get("parameters", [])]
        if not any((item["name"], item["in"]) == (name, place) for item in listed):
            missing.append((operation_id, name, place, required))
    assert not missing


@pytest.mark.parametrize("kind", ["openapi", "swagger"])
def test_every_definition_and_property_is_published(kind, request):
    document = request.getfixturevalue(kind)
    schemas = document["components"]["schemas"] if kind == "openapi" else document["definitions"]
    absent = [name for name in definitions() if name not in schemas]
    assert not absent, f"definitions: {absent}"
    missing = [(owner, name) for owner, name in properties() if name not in members(document, schemas[owner])]
    assert not missing, f"{len(missing)} properties: {missing[:30]}"


def test_all_references_inside_the_document_resolve(openapi):
    def walk(node):
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                resolve(openapi, node)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(openapi)


def test_the_document_is_served_where_clients_of_the_reference_look(api, swagger):
    for path in ("/openapi", "/v2/openapi"):
        assert api.get(path).json()["paths"].keys() == swagger["paths"].keys()
    assert swagger["swagger"] == "2.0" and swagger["basePath"] == BASE_PATH
