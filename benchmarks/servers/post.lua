-- A reading of 142 bytes.
wrk.method = "POST"
wrk.body = '{"deviceId":"sensor-0042","temperature":41.5,"humidity":63.2,"pressure":1013.25,"location":"hall 3, row 12b","firmware":"2.4.1","online":true}'
wrk.headers["Content-Type"] = "application/json"
