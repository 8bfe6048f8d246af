"""Valid specs, the smallest and one with every key, which tests read and break."""

SMALL = """\
[private]
path = "p.csv"

[synthetic.tree]
path = "s.csv"

[defaults]
tau = "5%"
epsilon = 0.25

[[check]]
id = "income"
sql = "SELECT COUNT(*) FROM D"
"""

HEAD = SMALL.partition("[[check]]")[0]
FULL = '''\
[private]
path = "${DATA}/census_$${x}.parquet"

[synthetic.tree]
path = "/srv/tree.parquet"
[synthetic.GAN-2_b]
path = "../gan.csv"

[budget]
epsilon = 10
delta = 1e-6

[ledger]
path = "spent.sqlite"

[privacy]
unit = "person_id"
max_rows = 3

[columns."capital-gain"]
bounds = [0, 99999]
step = 1
[columns.price]
bounds = [-0.5, "10.25"]
step = 0.25
type = "number"
cells = [0, 2.5, 10]

[defaults]
tau = "5%"
epsilon = 0.1
alpha = "1/30"
decider = "paper"
expect = "far"
severity = "warn"
on_undecided = "pass"
synthetic = ["tree"]

# a comment with [[check]] in it
[[check]]
id = "first"
sql = """
[[check]]
SELECT COUNT(*) FROM D"""

[[check]]
id = "second"
sql = 'SELECT SUM("capital-gain") FROM D'
tau = 0.10
epsilon = "1/3"
alpha = 0.05
decider = "inv_sum"
expect = "close"
severity = "error"
on_undecided = "warn"
synthetic = ["GAN-2_b", "tree"]
bins = "age=0:100:10"
keys = [
  "HS", 1, 2.50, true,
]

[[ check ]] # the third
id = "third"
sql = "SELECT COUNT(*) FROM D GROUP BY sex, married"
tau = 3
keys = [["f", true], ["m", false]]

[[check]]
id = "fourth"
marginal = ["age", "sex"]
tau = "2%"

[[check]]
id = "fifth"
marginal = ["age"]
distance = "ks"

[[check]]
id = "sixth"
score = "overall"
at_least = "90%"
ways = 1
'''
