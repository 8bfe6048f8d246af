-- Queries q1 to q30 of DP-PQD (Patwa et al. 2023, Table 5), on IPUMS-CPS: D is the table.

-- id: q1
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND race LIKE 'White-American Indian-Asian' AND workly LIKE 'Yes';

-- id: q2
SELECT COUNT(*) FROM D WHERE race LIKE 'White-Black' AND marst LIKE 'Never married/single' AND citizen LIKE 'Naturalized citizen';

-- id: q3
SELECT COUNT(*) FROM D WHERE sex LIKE 'Male' AND educ LIKE 'Doctorate degree' AND marst LIKE 'Separated';

-- id: q4
SELECT COUNT(*) FROM D WHERE race LIKE 'White-American Indian' AND marst LIKE 'Widowed' AND citizen LIKE 'Born in U.S';

-- id: q5
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND educ LIKE 'Grades 5 or 6' AND marst LIKE 'Never married/single';

-- id: q6
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND race LIKE 'White-Black' AND workly LIKE 'Yes';

-- id: q7
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND race LIKE 'Asian only' AND workly LIKE 'No';

-- id: q8
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND educ LIKE 'Master''s degree' AND marst LIKE 'Married, spouse present';

-- id: q9
SELECT COUNT(*) FROM D WHERE race LIKE 'Black' AND marst LIKE 'Married, spouse present' AND citizen LIKE 'Born in U.S';

-- id: q10
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND educ LIKE 'Bachelor''s degree' AND marst LIKE 'Married, spouse present';

-- id: q11
SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND race LIKE 'White' AND workly LIKE 'Yes';

-- id: q12
SELECT COUNT(*) FROM D WHERE race LIKE 'White' AND marst LIKE 'Married, spouse present' AND citizen LIKE 'Born in U.S';

-- id: q13
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Female' AND race LIKE 'White-Black' AND workly LIKE 'No';

-- id: q14
SELECT SUM(inctot) FROM D WHERE race LIKE 'Asian only' AND marst LIKE 'Separated' AND citizen LIKE 'Born in U.S';

-- id: q15
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Male' AND educ LIKE 'Professional school degree' AND marst LIKE 'Married, spouse absent';

-- id: q16
SELECT SUM(inctot) FROM D WHERE race LIKE 'White' AND marst LIKE 'Divorced' AND citizen LIKE 'Not a citizen';

-- id: q17
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Female' AND educ LIKE 'Master''s degree' AND marst LIKE 'Widowed';

-- id: q18
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Male' AND race LIKE 'Asian only' AND workly LIKE 'No';

-- id: q19
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Male' AND race LIKE 'Black' AND workly LIKE 'No';

-- id: q20
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Female' AND educ LIKE 'High school diploma or equivalent' AND marst LIKE 'Never married/single';

-- id: q21
SELECT SUM(inctot) FROM D WHERE race LIKE 'White' AND marst LIKE 'Married, spouse present' AND citizen LIKE 'Born in U.S';

-- id: q22
SELECT MEDIAN(age) FROM D WHERE workly LIKE 'Yes' AND classwkr LIKE 'Wage/salary, private' AND educ LIKE 'Bachelor''s degree';

-- id: q23
SELECT MEDIAN(age) FROM D WHERE sex LIKE 'Male' AND race LIKE 'White-Black' AND relate LIKE 'Spouse';

-- id: q24
SELECT MEDIAN(age) FROM D WHERE sex LIKE 'Male' AND race LIKE 'Black' AND classwkr LIKE 'Wage/salary, private';

-- id: q25
SELECT MEDIAN(age) FROM D WHERE sex LIKE 'Female' AND race LIKE 'Black' AND workly LIKE 'Yes';

-- id: q26
SELECT MEDIAN(age) FROM D WHERE sex LIKE 'Female' AND educ LIKE 'Some college but no degree' AND marst LIKE 'Married, spouse absent';

-- id: q27
SELECT MEDIAN(age) FROM D WHERE sex LIKE 'Male' AND citizen LIKE 'Born in U.S' AND workly LIKE 'Yes';

-- id: q28
SELECT MEDIAN(age) FROM D WHERE race LIKE 'Asian only' AND marst LIKE 'Separated' AND citizen LIKE 'Born in U.S';

-- id: q29
SELECT MEDIAN(age) FROM D WHERE sex LIKE 'Male' AND race LIKE 'White' AND classwkr LIKE 'Wage/salary, private';

-- id: q30
SELECT MEDIAN(age) FROM D WHERE workly LIKE 'Yes' AND classwkr LIKE 'Armed forces' AND educ LIKE 'Doctorate degree';
