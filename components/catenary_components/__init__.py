"""The standard components. Importing this package registers all of them; heavy libraries wait until they are used."""

from catenary_components.action import delay as delay
from catenary_components.action import functions as functions
from catenary_components.action import log as log
from catenary_components.ai import agent as agent
from catenary_components.external import rest_api_call as rest_api_call
from catenary_components.filter import expr_filter as expr_filter
from catenary_components.filter import field_filter as field_filter
from catenary_components.filter import js_filter as js_filter
from catenary_components.filter import js_switch as js_switch
from catenary_components.filter import msg_type_switch as msg_type_switch
from catenary_components.filter import py_filter as py_filter
from catenary_components.flow import break_ as break_
from catenary_components.flow import end as end
from catenary_components.flow import flow as flow
from catenary_components.flow import for_ as for_
from catenary_components.flow import fork as fork
from catenary_components.flow import join as join
from catenary_components.flow import ref as ref
from catenary_components.flow import switch as switch
from catenary_components.flow import while_ as while_
from catenary_components.transform import expr_transform as expr_transform
from catenary_components.transform import js_transform as js_transform
from catenary_components.transform import metadata_transform as metadata_transform
from catenary_components.transform import py_transform as py_transform
from catenary_components.transform import template as template
