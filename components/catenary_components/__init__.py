"""The standard components. Importing this package registers all of them; heavy libraries wait until they are used."""

from catenary_components.action import delay as delay
from catenary_components.action import exec as exec  # noqa: A004 - the name of the node type
from catenary_components.action import fetch_node_output as fetch_node_output
from catenary_components.action import functions as functions
from catenary_components.action import log as log
from catenary_components.ai import agent as agent
from catenary_components.endpoint import http as http
from catenary_components.endpoint import schedule as schedule
from catenary_components.endpoint import ws as _ws_endpoint  # noqa: F401 # pyright: ignore[reportUnusedImport] - it registers
from catenary_components.external import cache_delete as cache_delete
from catenary_components.external import cache_get as cache_get
from catenary_components.external import cache_set as cache_set
from catenary_components.external import db_client as db_client
from catenary_components.external import rest_api_call as rest_api_call
from catenary_components.external import ws as ws
from catenary_components.filter import expr_filter as expr_filter
from catenary_components.filter import field_filter as field_filter
from catenary_components.filter import group_filter as group_filter
from catenary_components.filter import js_filter as js_filter
from catenary_components.filter import js_switch as js_switch
from catenary_components.filter import msg_type_switch as msg_type_switch
from catenary_components.filter import py_filter as py_filter
from catenary_components.flow import break_ as break_
from catenary_components.flow import comment as comment
from catenary_components.flow import end as end
from catenary_components.flow import flow as flow
from catenary_components.flow import for_ as for_
from catenary_components.flow import fork as fork
from catenary_components.flow import group_action as group_action
from catenary_components.flow import inclusive as inclusive
from catenary_components.flow import join as join
from catenary_components.flow import ref as ref
from catenary_components.flow import switch as switch
from catenary_components.flow import wait as wait
from catenary_components.flow import while_ as while_
from catenary_components.transform import expr_transform as expr_transform
from catenary_components.transform import js_transform as js_transform
from catenary_components.transform import metadata_transform as metadata_transform
from catenary_components.transform import py_transform as py_transform
from catenary_components.transform import template as template
